package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module"
)

// traces are what a patient who is to be forgotten went by, now and earlier.
type traces struct {
	called []string        // folded names
	full   []string        // names
	emails []string        //
	phones []string        // as far as they are known, else their keys
	shared map[string]bool // keys of numbers that another patient has too
	events []string        // that stand on the history
}

// Kinds of earlier contacts.
const (
	earlierName  = "name"
	earlierPhone = "phone"
	earlierEmail = "email"
)

func earlierContext(id uuid.UUID) string { return "earlier/" + id.String() }

// keepEarlier keeps what a patient went by before a change, for the day they ask to be
// forgotten: payloads of then have it.
func (t *Tx) keepEarlier(ctx context.Context, at Scope, patient uuid.UUID, was, now PatientData) error {
	for _, one := range []struct {
		kind     string
		was, now *string
	}{{earlierName, &was.Name, &now.Name}, {earlierPhone, was.Phone, now.Phone}, {earlierEmail, was.Email, now.Email}} {
		if one.was == nil || same(one.was, one.now) {
			continue
		}
		id := NewID()
		err := t.KeepEarlier(ctx, dbgen.KeepEarlierParams{
			ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, Kind: one.kind, ValueEnc: t.kit.Sealer.Seal([]byte(*one.was), earlierContext(id)),
			ValueHmac: t.tombstone(at, one.kind, *one.was), CreatedAt: t.now,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// traces gathers what a patient went by, and drops what was kept for that.
func (t *Tx) traces(ctx context.Context, at Scope, p dbgen.Patient) (*traces, error) {
	was := &traces{full: []string{p.Name}, shared: make(map[string]bool)}
	if p.Phone != nil {
		was.phones = append(was.phones, *p.Phone)
	}
	if p.Email != nil {
		was.emails = append(was.emails, *p.Email)
	}
	earlier, err := t.ForgetEarlier(ctx, at.Clinic, at.Env, p.ID)
	if err != nil {
		return nil, err
	}
	for _, one := range earlier {
		plain, err := t.kit.Sealer.Open(one.ValueEnc, earlierContext(one.ID))
		if err != nil {
			return nil, fmt.Errorf("opening an earlier contact: %w", err)
		}
		switch one.Kind {
		case earlierName:
			was.full = append(was.full, string(plain))
		case earlierPhone:
			was.phones = append(was.phones, string(plain))
		case earlierEmail:
			was.emails = append(was.emails, string(plain))
		}
	}
	for _, name := range was.full {
		was.called = append(was.called, folded(name))
	}
	linked, err := t.ForgetPhones(ctx, at.Clinic, at.Env, p.ID)
	if err != nil {
		return nil, err
	}
	was.phones = append(was.phones, linked...)
	shared, err := t.SharedPhones(ctx, dbgen.SharedPhonesParams{ClinicID: at.Clinic, Env: at.Env, PatientID: p.ID, PhoneKeys: was.keys()})
	if err != nil {
		return nil, err
	}
	for _, key := range shared {
		was.shared[key] = true
	}
	was.events, err = t.EventsOf(ctx, at.Clinic, at.Env, p.ID)
	return was, err
}

// keys are what the numbers are compared by.
func (w *traces) keys() []string {
	keys := make([]string, len(w.phones))
	for i, phone := range w.phones {
		keys[i] = care.PhoneKey(phone)
	}
	return keys
}

// others are the numbers beside the present one that nobody else has.
func (w *traces) others(present *string) []string {
	list := []string{}
	for _, phone := range w.phones {
		if !w.shared[care.PhoneKey(phone)] && (present == nil || care.PhoneKey(phone) != care.PhoneKey(*present)) {
			list = append(list, phone)
		}
	}
	return list
}

// names tells whether an event names the patient.
func (w *traces) names(n *news) bool {
	for _, name := range w.called {
		if name != "" && name == folded(n.name()) {
			return true
		}
	}
	for _, email := range w.emails {
		if strings.EqualFold(email, strings.TrimSpace(n.data.Email)) {
			return true
		}
	}
	return false
}

// log is what the hub has to know to clear its log.
func (w *traces) log() module.Traces {
	to := module.Traces{Names: w.full, Emails: w.emails, Events: w.events}
	for _, phone := range w.phones {
		if w.shared[care.PhoneKey(phone)] {
			to.Shared = append(to.Shared, phone)
		} else {
			to.Phones = append(to.Phones, phone)
		}
	}
	return to
}

// Kinds of tombstones.
const (
	tombTicket = "ticket"
	tombCPF    = "cpf"
	tombRef    = "external_ref"
	tombPerson = "person"
)

// tombstone is what is kept of somebody who was forgotten: a keyed hash, to know them
// again where their news or their line of an import comes.
func (t *Tx) tombstone(at Scope, kind string, values ...string) []byte {
	mac := hmac.New(sha256.New, t.kit.Sealer.Derive("forgotten"))
	mac.Write(at.Clinic[:])
	for _, part := range append([]string{string(at.Env), kind}, values...) {
		fmt.Fprintf(mac, "/%d/%s", len(part), part)
	}
	return mac.Sum(nil)
}

// Opaque is an id of another product's as it is kept: itself, or where it is a tax id, or
// has one in it, a keyed hash that is the same for the same one.
func (t *Tx) Opaque(at Scope, id string) string {
	if care.HideCPF(id) == id {
		return id
	}
	return "cpf-" + hex.EncodeToString(t.tombstone(at, "id", id)[:16])
}

// tombstones are those of a patient, or of what an import tells of one.
func (t *Tx) tombstones(at Scope, name string, phone, ref *string, cpf []byte) (hashes [][]byte) {
	if phone != nil {
		hashes = append(hashes, t.tombstone(at, tombPerson, folded(name), care.PhoneKey(*phone)))
	}
	if ref != nil {
		hashes = append(hashes, t.tombstone(at, tombRef, *ref))
	}
	if cpf != nil {
		hashes = append(hashes, t.tombstone(at, tombCPF, hex.EncodeToString(cpf)))
	}
	return hashes
}

// leaveTombstones remembers a patient who is forgotten now, and their tickets.
func (t *Tx) leaveTombstones(ctx context.Context, at Scope, p dbgen.Patient) error {
	hashes := t.tombstones(at, p.Name, p.Phone, p.ExternalRef, p.CpfHmac)
	tickets, err := t.ForgetTickets(ctx, at.Clinic, at.Env, p.ID)
	if err != nil {
		return err
	}
	for _, one := range tickets {
		hashes = append(hashes, t.tombstone(at, tombTicket, one.Source, one.TicketID))
	}
	return t.Forget(ctx, dbgen.ForgetParams{ClinicID: at.Clinic, Env: at.Env, Hashes: hashes, ForgottenAt: t.now})
}

// forgottenTicket tells whether an event is about a ticket of somebody who was forgotten.
func (t *Tx) forgottenTicket(ctx context.Context, n *news) (bool, error) {
	if n.data.TicketID == "" || n.aboutBooking() {
		return false, nil
	}
	found, err := t.Forgotten(ctx, n.at.Clinic, n.at.Env, [][]byte{t.tombstone(n.at, tombTicket, n.source, string(n.data.TicketID))})
	return len(found) > 0, err
}
