package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// InboxEntry is an event that matched no patient. See [inbox.OpenRetention] and
// [inbox.SettledRetention] for how long it is kept.
type InboxEntry struct {
	ID         uuid.UUID  `json:"id" doc:"Names the entry in paths"`
	EventID    string     `json:"event_id" doc:"Names the event, as the other product sent it"`
	EventType  string     `json:"event_type" doc:"What happened, such as appointment.created"`
	Product    string     `json:"product" doc:"That sent it"`
	Phone      *string    `json:"phone" doc:"As long as it is open"`
	Name       *string    `json:"name" doc:"As long as it is open"`
	Summary    *string    `json:"summary" doc:"Summary of the event, as on a patient's history: of a message its text, of a booking service, professional and time. As long as it is open"`
	StartsAt   *time.Time `json:"starts_at" doc:"When the appointment begins that it is about, written as in the summary; null: its event does not say. As long as it is open" example:"2026-03-02T12:00:00Z"`
	Status     string     `json:"status" enum:"open,linked,dismissed" doc:"Whether a user has said whom it is about"`
	PatientID  *uuid.UUID `json:"patient_id" doc:"The patient it was linked to; null: none"`
	Suggested  *uuid.UUID `json:"suggested_patient_id" doc:"The patient who has this number by now; null: no patient has, or several. As long as it is open"`
	OccurredAt time.Time  `json:"occurred_at" doc:"When it happened, as the other product says"`
	ReceivedAt time.Time  `json:"received_at" doc:"When it came in"`
	SettledAt  *time.Time `json:"settled_at" doc:"When it was linked or dismissed; null: it is open"`
}

func toInboxEntry(entry store.InboxEntry) InboxEntry {
	return InboxEntry{
		ID: entry.ID, EventID: entry.EventID, EventType: entry.EventType, Product: entry.Source, Phone: entry.Phone, Name: entry.Name, Status: entry.Status, PatientID: entry.PatientID,
		OccurredAt: entry.OccurredAt.UTC(), ReceivedAt: entry.ReceivedAt.UTC(), SettledAt: clampOptionalTime(entry.SettledAt),
	}
}

// toInboxItem is [toInboxEntry] with what the entry's event says.
func toInboxItem(item inbox.Item) InboxEntry {
	entry := toInboxEntry(item.Entry)
	entry.Summary, entry.StartsAt, entry.Suggested = item.Summary, item.StartsAt, item.Suggested
	return entry
}

type inboxInput struct {
	rest.PageParams
	Status string `query:"status" enum:"open,linked,dismissed" default:"open" doc:"Only those in this state"`
}

func (a *API) listInbox(ctx context.Context, in *inboxInput) (*struct{ Body rest.Page[InboxEntry] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	items, total, err := a.inbox.List(ctx, scope, in.Status, in.PerPage, in.Offset())
	if in.Status == inbox.Open {
		module.RequireAudit(ctx) // open entries have the contents of events
	}
	list := rest.Map(items, func(item inbox.Item) InboxEntry {
		if item.Suggested != nil {
			module.SetSubject(ctx, item.Suggested.String())
		}
		return toInboxItem(item)
	})
	return &struct{ Body rest.Page[InboxEntry] }{rest.NewPage(list, total, in.PageParams)}, err
}

type linkInput struct {
	rest.IDParam
	Body struct {
		PatientID uuid.UUID `json:"patient_id" doc:"Whom the event is about"`
	} `nameHint:"InboxLink"`
}

type linkOutput struct {
	Body struct {
		InboxEntry
		AlsoLinked   int  `json:"also_linked" doc:"Other entries from the same number, or about the same ticket or appointment, that followed in this request: at most 200, the oldest first"`
		StillLinking bool `json:"still_linking" doc:"There are more of them; they follow in the background within minutes, and are open until then"`
	} `nameHint:"InboxLinked"`
}

func (a *API) linkInbox(ctx context.Context, in *linkInput) (*linkOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	linked, err := a.inbox.Link(ctx, scope, in.ID, in.Body.PatientID, caller.UserID)
	out := &linkOutput{}
	out.Body.InboxEntry, out.Body.AlsoLinked, out.Body.StillLinking = toInboxEntry(linked.Entry), linked.AlsoLinked, linked.StillLinking
	return out, err
}

func (a *API) dismissInbox(ctx context.Context, in *rest.IDParam) (*struct{ Body InboxEntry }, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	dismissed, err := a.inbox.Dismiss(ctx, scope, in.ID, caller.UserID)
	return &struct{ Body InboxEntry }{toInboxEntry(dismissed)}, err
}
