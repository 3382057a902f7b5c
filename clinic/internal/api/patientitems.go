package api

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
)

// itemsPerQuery is how many of a patient's items are in memory at a time: records may be long.
const itemsPerQuery = 50

// forEachRow converts all rows that a filter matches, page by page, and visits each.
func forEachRow[Row, Shown any](ctx context.Context, q store.ResourceFilter, find func(context.Context, store.ResourceFilter) ([]Row, int, error), id func(Row) uuid.UUID,
	convert func(Row) (Shown, error), visit func(Shown) error,
) error {
	for {
		rows, _, err := find(ctx, q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			element, err := convert(row)
			if err == nil {
				err = visit(element)
			}
			if err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.Cursor = &store.Cursor{ID: id(rows[len(rows)-1])}
	}
}

func withoutError[A, B any](convert func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return convert(a), nil }
}

// exportVisitor visits all items of a patient, kind by kind. begin is called before each kind.
type exportVisitor struct {
	begin       func(kind string) error
	record      func(Record) error
	appointment func(Appointment) error
	payment     func(Payment) error
	interaction func(Interaction) error
	inboxEntry  func(InboxEntry) error
}

func (a *API) visitPatientItems(ctx context.Context, q store.ResourceFilter, view recordView, visitor exportVisitor) error {
	for _, kind := range []struct {
		name string
		read func() error
	}{
		{"records", func() error {
			return forEachRow(ctx, q, a.store.FindRecords, func(r store.Record) uuid.UUID { return r.ID }, func(r store.Record) (Record, error) { return a.toRecord(r, view) }, visitor.record)
		}},
		{"appointments", func() error {
			return forEachRow(ctx, q, a.store.FindAppointments, func(r store.Appointment) uuid.UUID { return r.ID }, withoutError(toAppointment), visitor.appointment)
		}},
		{"payments", func() error {
			return forEachRow(ctx, q, a.store.FindPayments, func(r store.Payment) uuid.UUID { return r.ID }, withoutError(toPayment), visitor.payment)
		}},
		{"interactions", func() error {
			return forEachRow(ctx, q, a.store.FindInteractions, func(r store.Interaction) uuid.UUID { return r.ID }, withoutError(toInteraction), visitor.interaction)
		}},
		{"inbox", func() error {
			return forEachRow(ctx, q, a.findInboxEntries, func(item inbox.Item) uuid.UUID { return item.Entry.ID }, withoutError(toInboxItem), visitor.inboxEntry)
		}},
	} {
		if err := visitor.begin(kind.name); err != nil {
			return err
		}
		if err := kind.read(); err != nil {
			return err
		}
	}
	return nil
}

// findInboxEntries returns a page of a patient's inbox entries.
func (a *API) findInboxEntries(ctx context.Context, q store.ResourceFilter) ([]inbox.Item, int, error) {
	var after uuid.UUID
	if q.Cursor != nil {
		after = q.Cursor.ID
	}
	items, err := a.inbox.ListOfPatient(ctx, q.Scope, q.Patients[0], after, q.Limit)
	return items, 0, err
}
