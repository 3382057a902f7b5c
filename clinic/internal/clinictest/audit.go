package clinictest

// AuditEntry is an entry of the audit log, as the clinic's administrators read it.
type AuditEntry struct{ Action, Actor, Environment, PatientID string }

// AuditEntries are the newest entries that match a query, the newest first.
func (p *Clinic) AuditEntries(query string) (list []AuditEntry) {
	p.T.Helper()
	for _, one := range p.Items("/integrations/audit-log?limit=50" + query) {
		list = append(list, AuditEntry{
			one["action"].(string), one["actor"].(object)["type"].(string), one["environment"].(string), one["subject_id"].(string),
		})
	}
	return list
}
