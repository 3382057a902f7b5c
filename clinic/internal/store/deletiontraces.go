package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
	shared map[string]bool // keys of numbers, and addresses in lower case, that another patient has too
	events []string        // that stand on the history, or are on their way there
	cpfs   []string        // hashes of earlier tax ids, in hexadecimal

	tickets [][]byte // tombstones of those whose news were on their way
}

// Kinds of what is kept of earlier.
const (
	earlierName  = "name"
	earlierPhone = "phone"
	earlierEmail = "email"
	earlierCPF   = "cpf" // its keyed hash, in hexadecimal
)

func earlierContext(id uuid.UUID) string { return "earlier/" + id.String() }

// keepEarlier keeps what a patient went by before a change, for the day they ask to be
// forgotten: payloads of then have it, and files that are imported again.
func (t *Tx) keepEarlier(ctx context.Context, at Scope, patient uuid.UUID, was, now PatientData) error {
	hash := func(cpf *string) *string {
		if cpf == nil {
			return nil
		}
		hash := hex.EncodeToString(cpfHash(t.host.Sealer.Derive("cpf"), at, *cpf))
		return &hash
	}
	for _, one := range []struct {
		kind     string
		was, now *string
	}{
		{earlierName, &was.Name, &now.Name}, {earlierPhone, was.Phone, now.Phone}, {earlierEmail, was.Email, now.Email},
		{earlierCPF, hash(was.CPF), hash(now.CPF)},
	} {
		if one.was == nil || same(one.was, one.now) {
			continue
		}
		id := NewID()
		err := t.KeepEarlier(ctx, dbgen.KeepEarlierParams{
			ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, Kind: one.kind, ValueEnc: t.host.Sealer.Seal([]byte(*one.was), earlierContext(id)),
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
		plain, err := t.host.Sealer.Open(one.ValueEnc, earlierContext(one.ID))
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
		case earlierCPF:
			was.cpfs = append(was.cpfs, string(plain))
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
	lower := make([]string, len(was.emails))
	for i, email := range was.emails {
		lower[i] = strings.ToLower(email)
	}
	if shared, err = t.SharedEmails(ctx, dbgen.SharedEmailsParams{ClinicID: at.Clinic, Env: at.Env, PatientID: p.ID, Emails: lower}); err != nil {
		return nil, err
	}
	for _, email := range shared {
		was.shared[email] = true
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

func (w *traces) sharedPhone(phone *string) bool {
	return phone != nil && w.shared[care.PhoneKey(*phone)]
}

func (w *traces) sharedEmail(email *string) bool {
	return email != nil && w.shared[strings.ToLower(*email)]
}

// others are the numbers beside the present one that nobody else has.
func (w *traces) others(present *string) []string {
	list := []string{}
	for _, phone := range w.phones {
		if !w.sharedPhone(&phone) && (present == nil || care.PhoneKey(phone) != care.PhoneKey(*present)) {
			list = append(list, phone)
		}
	}
	return list
}

// about tells whether an event, with the key of its number, is about the patient: one of
// their numbers or addresses says so, and where somebody else has that too, the name.
func (w *traces) about(n *news, key *string) bool {
	said := false
	if key != nil && slices.Contains(w.keys(), *key) {
		if !w.shared[*key] {
			return true
		}
		said = true
	}
	email := strings.TrimSpace(n.data.Email)
	if slices.ContainsFunc(w.emails, func(one string) bool { return strings.EqualFold(one, email) }) {
		if !w.sharedEmail(&email) {
			return true
		}
		said = true
	}
	name := folded(n.name())
	return said && name != "" && slices.Contains(w.called, name)
}

// log is what the hub has to know to clear its log.
func (w *traces) log() module.Traces {
	to := module.Traces{Names: w.full, Events: w.events}
	for _, email := range w.emails {
		if w.sharedEmail(&email) {
			to.Shared = append(to.Shared, email)
		} else {
			to.Emails = append(to.Emails, email)
		}
	}
	for _, phone := range w.phones {
		if w.sharedPhone(&phone) {
			to.Shared = append(to.Shared, phone)
		} else {
			to.Phones = append(to.Phones, phone)
		}
	}
	return to
}

// Kinds of tombstones.
const (
	tombTicket  = "ticket"
	tombCPF     = "cpf"
	tombRef     = "external_ref"
	tombPerson  = "person"  // a name with a number
	tombAddress = "address" // a name with an e-mail address
)

// tombstone is what is kept of somebody who was forgotten: a keyed hash, to know them
// again where their news or their line of an import comes.
func (t *Tx) tombstone(at Scope, kind string, values ...string) []byte {
	mac := hmac.New(sha256.New, t.host.Sealer.Derive("forgotten"))
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
func (t *Tx) tombstones(at Scope, name string, phone, email, ref *string, cpf []byte) (hashes [][]byte) {
	if phone != nil {
		hashes = append(hashes, t.personTomb(at, name, *phone))
	}
	if email != nil {
		hashes = append(hashes, t.addressTomb(at, name, *email))
	}
	if ref != nil {
		hashes = append(hashes, t.tombstone(at, tombRef, *ref))
	}
	if cpf != nil {
		hashes = append(hashes, t.tombstone(at, tombCPF, hex.EncodeToString(cpf)))
	}
	return hashes
}

func (t *Tx) personTomb(at Scope, name, phone string) []byte {
	return t.tombstone(at, tombPerson, folded(name), care.PhoneKey(phone))
}

func (t *Tx) addressTomb(at Scope, name, email string) []byte {
	return t.tombstone(at, tombAddress, folded(name), strings.ToLower(email))
}

// earlierTombstones are those of what a patient went by earlier: each name with each
// number and address that nobody else has.
func (t *Tx) earlierTombstones(at Scope, was *traces) (hashes [][]byte) {
	for _, name := range was.full {
		for _, phone := range was.phones {
			if !was.sharedPhone(&phone) {
				hashes = append(hashes, t.personTomb(at, name, phone))
			}
		}
		for _, email := range was.emails {
			if !was.sharedEmail(&email) {
				hashes = append(hashes, t.addressTomb(at, name, email))
			}
		}
	}
	for _, cpf := range was.cpfs {
		hashes = append(hashes, t.tombstone(at, tombCPF, cpf))
	}
	return hashes
}

// leaveTombstones remembers a patient who is forgotten now, and their tickets.
func (t *Tx) leaveTombstones(ctx context.Context, at Scope, p dbgen.Patient, was *traces) error {
	hashes := append(t.tombstones(at, p.Name, p.Phone, p.Email, p.ExternalRef, p.CpfHmac), t.earlierTombstones(at, was)...)
	tickets, err := t.ForgetTickets(ctx, at.Clinic, at.Env, p.ID)
	if err != nil {
		return err
	}
	hashes = append(hashes, was.tickets...)
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
	found, err := t.Forgotten(ctx, n.at.Clinic, n.at.Env, [][]byte{t.tombstone(n.at, tombTicket, n.source, n.data.TicketID)})
	return len(found) > 0, err
}
