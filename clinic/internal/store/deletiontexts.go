package store

import (
	"context"
	"encoding/hex"
	"errors"
	"regexp"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store/dbgen"
)

// nobody stands for what named somebody who was forgotten, where there has to be something.
const nobody = "forgotten"

// drawnForm is that of ids which programs draw: they say nothing about anybody.
var drawnForm = regexp.MustCompile(`^(evt_[0-9a-f]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// hidden is an id that a product made, as it is kept of somebody who was forgotten: it may
// have been made of a number or a name, in any form. The same one gives the same.
func (t *Tx) hidden(at Scope, source, id string) string {
	return nobody + "-" + hex.EncodeToString(t.tombstone(at, "id there", source, id)[:16])
}

// person is who is to be forgotten, to be found in texts.
func (w *traces) person() Person {
	return Person{Names: w.full, Phones: w.phones, Emails: w.emails}
}

// forgetTexts removes from what is kept of a patient what was written about them, and
// whatever else names them. All of it counts as changed: copies of it have to be read anew.
func (t *Tx) forgetTexts(ctx context.Context, at Scope, patient uuid.UUID, was *traces) error {
	who := was.person()
	for _, forget := range []func(context.Context, Scope, uuid.UUID, Person) error{
		t.forgetRecords, t.forgetAppointments, t.forgetPayments, t.forgetInteractions,
	} {
		if err := forget(ctx, at, patient, who); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) forgetRecords(ctx context.Context, at Scope, patient uuid.UUID, who Person) error {
	rows, err := t.TextsOfRecords(ctx, at.Clinic, at.Env, patient)
	if err != nil {
		return err
	}
	lock := dbgen.LockRecordsParams{Now: t.now, ClinicID: at.Clinic, Env: at.Env, PatientID: patient, Nobody: nobody}
	for _, r := range rows {
		if who.Called(r.Type) {
			lock.Types = append(lock.Types, r.ID)
		}
		if who.Named(r.Professional) { // who may have the same first name
			lock.Professionals = append(lock.Professionals, r.ID)
		}
	}
	return t.LockRecords(ctx, lock)
}

func (t *Tx) forgetAppointments(ctx context.Context, at Scope, patient uuid.UUID, who Person) error {
	rows, err := t.TextsOfAppointments(ctx, at.Clinic, at.Env, patient)
	if err != nil {
		return err
	}
	forget := dbgen.ForgetAppointmentsParams{Now: t.now, ClinicID: at.Clinic, Env: at.Env, PatientID: patient}
	for _, a := range rows {
		if who.Called(a.Service) {
			forget.Services = append(forget.Services, a.ID)
		}
		if who.Named(a.Professional) {
			forget.Professionals = append(forget.Professionals, a.ID)
		}
		if a.ExternalID != nil && !drawnForm.MatchString(*a.ExternalID) {
			forget.Ids, forget.Hidden = append(forget.Ids, a.ID), append(forget.Hidden, t.hidden(at, *a.Source, *a.ExternalID))
		}
	}
	return t.ForgetAppointments(ctx, forget)
}

func (t *Tx) forgetPayments(ctx context.Context, at Scope, patient uuid.UUID, who Person) error {
	rows, err := t.MethodsOfPayments(ctx, at.Clinic, at.Env, patient)
	if err != nil {
		return err
	}
	forget := dbgen.ForgetPaymentsParams{Now: t.now, ClinicID: at.Clinic, Env: at.Env, PatientID: patient}
	for _, p := range rows {
		if who.Called(p.Method) {
			forget.Methods = append(forget.Methods, p.ID)
		}
	}
	return t.ForgetPayments(ctx, forget)
}

func (t *Tx) forgetInteractions(ctx context.Context, at Scope, patient uuid.UUID, who Person) error {
	rows, err := t.TextsOfInteractions(ctx, at.Clinic, at.Env, patient)
	if err != nil {
		return err
	}
	forget := dbgen.ForgetInteractionsParams{Now: &t.now, ClinicID: at.Clinic, Env: at.Env, PatientID: patient, Nobody: nobody}
	for _, i := range rows {
		if who.Called(i.Type) {
			forget.Types = append(forget.Types, i.ID)
		}
		named := who.Called(i.Source)
		if named {
			forget.Sources = append(forget.Sources, i.ID)
		}
		if named || !drawnForm.MatchString(i.SourceID) {
			forget.Ids, forget.Hidden = append(forget.Ids, i.ID), append(forget.Hidden, t.hidden(at, i.Source, i.SourceID))
		}
	}
	return t.ForgetInteractions(ctx, forget)
}

// taken tells whether what somebody who was forgotten has on their history is what an
// interaction calls its source.
func (t *Tx) taken(ctx context.Context, at Scope, d InteractionData) (bool, error) {
	return t.ForgottenSource(ctx, dbgen.ForgottenSourceParams{
		ClinicID: at.Clinic, Env: at.Env, Sources: []string{d.Source, nobody}, SourceID: t.hidden(at, d.Source, d.SourceID), Origin: string(d.Origin),
	})
}

// recall tells an event about an appointment of somebody who was forgotten under which id
// that is kept now.
func (t *Tx) recall(ctx context.Context, n *news) error {
	id := n.data.AppointmentID
	if id == "" || !n.aboutBooking() || drawnForm.MatchString(id) {
		return nil
	}
	hidden := t.hidden(n.at, n.source, id)
	_, err := t.ExternalAppointment(ctx, dbgen.ExternalAppointmentParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, ExternalID: &hidden})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err == nil:
		n.kept = hidden
	}
	return err
}
