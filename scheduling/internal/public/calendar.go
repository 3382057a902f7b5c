package public

import (
	"integrationhub/scheduling/internal/calendar"
	"integrationhub/scheduling/internal/store"
)

// Calendar is a booking as a file for its client's own calendar, and the name of the file.
func (d *Desk) Calendar(o store.Org, b Booked) (file []byte, name string) {
	event := calendar.Event{
		UID: b.ID.String() + "@scheduling", Sequence: b.IcsSequence, Stamp: b.UpdatedAt, Start: b.StartAt.In(o.Zone), End: b.EndAt.In(o.Zone),
		Summary: b.ServiceName + " · " + o.Name, Description: b.ProfessionalName + "\n" + b.CancelURL, URL: b.CancelURL,
		Cancelled: !b.Status.Blocks(),
	}
	if o.Address != nil {
		event.Location = *o.Address
	}
	return calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{event}}.Bytes(), o.Slug + ".ics"
}
