package clinictest

// AuditEntry is an entry of the audit log, as the clinic's administrators read it.
type AuditEntry struct{ Action, Actor, Environment, PatientID string }

// AuditEntries returns the newest entries that match a query, newest first. The query
// begins with "&".
func (c *Clinic) AuditEntries(query string) (entries []AuditEntry) {
	c.T.Helper()
	for _, item := range c.Items("/integrations/audit-log?limit=50" + query) {
		entries = append(entries, AuditEntry{
			item["action"].(string), item["actor"].(object)["type"].(string), item["environment"].(string), item["subject_id"].(string),
		})
	}
	return entries
}
