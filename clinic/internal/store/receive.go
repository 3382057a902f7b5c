package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Receive takes in an event of a connected product. [module.ErrIgnored] is the answer
// to one that matches no patient, or no appointment of theirs: it waits in the inbox;
// and to one that is not its product's to send.
func (t *Tx) Receive(ctx context.Context, e hub.Event) error {
	if !kinds[e.Type].from(e.Product) {
		return module.ErrIgnored
	}
	n, err := read(Scope{e.TenantID, e.Environment}, e.Product, e.ID, e.Type, e.Time, e.Data)
	if err != nil {
		return err
	}
	if err := t.turn(ctx, &n); err != nil {
		return err
	}
	if err := t.recall(ctx, &n); err != nil {
		return err
	}
	patient, err := t.whose(ctx, &n)
	if err != nil {
		return err
	}
	if patient == nil {
		gone, err := t.forgottenTicket(ctx, &n)
		if err != nil {
			return err
		}
		if gone {
			return module.ErrIgnored // nothing about them is kept any more
		}
		return t.wait(ctx, &n)
	}
	held, err := t.SharePatient(ctx, n.at.Clinic, n.at.Env, patient.ID)
	if err != nil {
		return err
	}
	if held.Status == Anonymized {
		return module.ErrIgnored
	}
	behind, err := t.waitsBehind(ctx, &n)
	if err != nil {
		return err
	}
	if behind {
		n.meantFor = &patient.ID
		return t.wait(ctx, &n)
	}
	switch applied, err := t.take(ctx, &n, patient.ID, uuid.Nil); {
	case err != nil:
		return err
	case !applied:
		return t.wait(ctx, &n)
	}
	return nil
}

// take gives an event its effect on a patient, who is held, and settles what waits in the
// inbox for its ticket or appointment; itself is the event's own entry, if it has one.
func (t *Tx) take(ctx context.Context, n *news, patient, itself uuid.UUID) (applied bool, err error) {
	l := dbgen.Linking{ClinicID: n.at.Clinic, Env: n.at.Env, ID: itself, PatientID: patient, Source: n.source, ExternalID: n.subject()}
	var rows []dbgen.WaitingRow
	var waiting []dbgen.InboxEntry
	if l.ExternalID != nil {
		if rows, err = t.lookAnew(ctx, l); err != nil {
			return false, err
		}
	}
	if len(rows) > 0 { // locked before appointments are
		if waiting, err = t.hold(ctx, n.at, step(rows), uuid.Nil); err != nil {
			return false, err
		}
	}
	if applied, err = t.apply(ctx, n, patient, false); err != nil || !applied || len(rows) == 0 {
		return applied, err
	}
	if l.ID == uuid.Nil {
		l.ID = NewID()
	}
	_, _, err = t.follow(ctx, l, rows, waiting)
	return true, err
}

// turn has the news of one ticket or appointment wait for each other: the second must
// see what the first one did, or left in the inbox. News of one number do not; but they
// wait for who says whose it is, or are seen by them.
func (t *Tx) turn(ctx context.Context, n *news) error {
	var number, subject string
	if key := n.phoneKey(); key != nil {
		number = numberTurn(n.at, *key)
	}
	if n.subject() != nil {
		subject = subjectTurn(n.at, n.source, *n.subject())
	}
	if number == "" && subject == "" {
		return nil
	}
	_, err := t.Raw.Exec(ctx, `select case when $1 <> '' then pg_advisory_xact_lock_shared(hashtextextended($1, 0)) end,
		case when $2 <> '' then pg_advisory_xact_lock(hashtextextended($2, 0)) end`, number, subject)
	return err
}

func numberTurn(at Scope, key string) string {
	return at.Clinic.String() + "/" + string(at.Env) + "//" + key
}

func subjectTurn(at Scope, source, subject string) string {
	return at.Clinic.String() + "/" + string(at.Env) + "/" + source + "/" + subject
}

// turns takes the turns of all news of a number, and of those of tickets and
// appointments: the number's first, then the others in one order, as everybody does.
func (t *Tx) turns(ctx context.Context, at Scope, number *string, rows []dbgen.WaitingRow) error {
	if number != nil {
		if _, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", numberTurn(at, *number)); err != nil {
			return err
		}
	}
	var subjects []string
	for _, row := range rows {
		if row.ExternalID != nil {
			subjects = append(subjects, subjectTurn(at, row.Source, *row.ExternalID))
		}
	}
	slices.Sort(subjects)
	for _, subject := range slices.Compact(subjects) {
		if _, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", subject); err != nil {
			return err
		}
	}
	return nil
}

// whose finds the patient that an event is about: by the ticket or appointment that it
// names, or by the phone number; nil where there is none.
func (t *Tx) whose(ctx context.Context, n *news) (*dbgen.Patient, error) {
	byNumber := func() (*dbgen.Patient, error) {
		list, err := t.ByPhone(ctx, n.at, n.phone())
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return &list[likeliest(list, n)], nil
	}
	bySubject := func() (p dbgen.Patient, err error) {
		switch {
		case n.subject() == nil:
			return p, pgx.ErrNoRows
		case n.aboutBooking():
			id := n.booking()
			return t.PatientOfAppointment(ctx, dbgen.PatientOfAppointmentParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, ExternalID: &id})
		}
		return t.PatientOfTicket(ctx, dbgen.PatientOfTicketParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, TicketID: n.data.TicketID})
	}
	// Who a message is from, or a booking for, the number says; of what is done to them
	// later, what is known of them already.
	if n.kind != ticketClosed && !n.laterOn() {
		if p, err := byNumber(); p != nil || err != nil {
			return p, err
		}
	}
	p, err := bySubject()
	if err == nil {
		return &p, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	return byNumber()
}

// likeliest is who of a family that shares a number an event means: who has the name or
// the e-mail address that it tells, else the first.
func likeliest(list []dbgen.Patient, n *news) int {
	for i, p := range list {
		if n.name() != "" && folded(n.name()) == folded(p.Name) || p.Email != nil && strings.EqualFold(*p.Email, strings.TrimSpace(n.data.Email)) {
			return i
		}
	}
	return 0
}

// inboxContext binds the sealed data of an event to its inbox entry.
func inboxContext(id uuid.UUID) string { return "inbox/" + id.String() }

// inboxEmail is what the e-mail address that an entry tells is found by while the entry is
// open; empty where it tells none.
func (t *Tx) inboxEmail(at Scope, email string) []byte {
	if email = strings.ToLower(strings.TrimSpace(email)); email == "" {
		return []byte{}
	}
	return t.tombstone(at, "inbox_email", email)
}

// wait puts an event into the inbox and gives [module.ErrIgnored].
func (t *Tx) wait(ctx context.Context, n *news) error {
	id := NewID()
	entry := dbgen.InsertInboxEntryParams{
		ClinicID: n.at.Clinic, Env: n.at.Env, ID: id, Source: n.source, EventID: n.id, EventType: n.kind, OccurredAt: n.time, ExternalID: n.subject(),
		DataEnc: t.host.Sealer.Seal(n.raw, inboxContext(id)), EmailHmac: t.inboxEmail(n.at, n.data.Email), MeantFor: n.meantFor, ReceivedAt: t.now,
	}
	if number := care.E164(n.phone()); number != "" {
		entry.Phone = &number
	}
	if name := n.name(); name != "" {
		name = care.Shorten(care.HideCPF(name), 120)
		entry.Name = &name
	}
	if err := t.InsertInboxEntry(ctx, entry); err != nil {
		return err
	}
	return module.ErrIgnored
}

// apply gives an event its effect on a patient, who is held. Where it is about an
// appointment that cannot be told from others nothing happens, unless somebody said
// that the event is the patient's: then it stands on the history, and that is all.
func (t *Tx) apply(ctx context.Context, n *news, patient uuid.UUID, said bool) (applied bool, err error) {
	summary := n.said()
	switch n.kind {
	case appointmentCreated:
		if summary, err = t.applyBooked(ctx, n, patient); err != nil {
			return false, err
		}
	case appointmentCancelled, appointmentReminded, appointmentNoshow:
		a, err := t.applyBooking(ctx, n, patient)
		if err != nil || a == nil && !said {
			return false, err
		}
		if n.kind != appointmentCancelled && a != nil {
			summary = booked(a.Service, a.Professional, a.StartsAt)
		}
	}
	if id := n.data.TicketID; id != "" && !n.aboutBooking() {
		if err := t.PutTicket(ctx, dbgen.PutTicketParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, TicketID: id, PatientID: patient}); err != nil {
			return false, err
		}
	}
	_, err = t.addInteraction(ctx, n.at, patient, InteractionData{
		Type: strings.ReplaceAll(n.kind, ".", "_"), Summary: summary, Source: n.source, SourceID: n.id, Origin: OriginEvent, At: n.time,
	})
	return err == nil, err
}

// reread reads an open inbox entry's event.
func (t *Tx) reread(entry dbgen.InboxEntry) (news, error) { return reread(t.host.Sealer, entry) }

// settle applies one open inbox entry to a patient; said as [Tx.apply] has it.
func (t *Tx) settle(ctx context.Context, entry dbgen.InboxEntry, patient uuid.UUID, by *uuid.UUID, said bool) (settled bool, err error) {
	n, err := t.reread(entry)
	if err != nil {
		return false, err
	}
	if err := t.recall(ctx, &n); err != nil {
		return false, err
	}
	if applied, err := t.apply(ctx, &n, patient, said); err != nil || !applied {
		return false, err
	}
	_, err = t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{
		ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, Status: Linked, PatientID: &patient, SettledBy: by, SettledAt: &t.now,
	})
	return err == nil, err
}
