package care

// Sensitivity says what connected products see of a record, in FHIR's confidentiality
// codes.
type Sensitivity string

// The sensitivities.
const (
	Normal         Sensitivity = "N"
	Restricted     Sensitivity = "R" // peers see that there is a record, and nothing of it
	VeryRestricted Sensitivity = "V" // peers do not see that there is a record
)

// PeerView is what connected products see of a record.
type PeerView struct{ Type, Summary string }

// PeerView returns what connected products see of a record with this sensitivity, nil if
// they see nothing.
func (s Sensitivity) PeerView(recordType, summary string) *PeerView {
	switch s {
	case Normal:
		return &PeerView{Redact(recordType), Redact(summary)}
	case Restricted:
		return &PeerView{"restricted", "***"}
	case VeryRestricted:
	}
	return nil
}
