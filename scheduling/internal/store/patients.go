package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/names"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// patientEvent is the data of the clinic's patient events.
type patientEvent struct {
	ID          string   `json:"patient_id"`
	Phone       string   `json:"phone"`
	Phones      []string `json:"phones"` // earlier and linked numbers, without the present one
	Names       []string `json:"names"`  // earlier ones, by which only clients with one of Phones are known
	Name        string   `json:"name"`
	Email       string   `json:"email"`
	Changed     []string `json:"changed_fields"`
	PhoneShared bool     `json:"phone_shared"`
	EmailShared bool     `json:"email_shared"`
	Request     string   `json:"deletion_request_id"`
}

// clientsWithPhones finds the clients with any of the phones, ignoring empty ones.
func (t *Tx) clientsWithPhones(ctx context.Context, org uuid.UUID, phones ...string) ([]Client, error) {
	var forms []string
	for _, phone := range phones {
		if phone != "" {
			forms = append(forms, booking.PhoneForms(phone)...)
		}
	}
	if len(forms) == 0 {
		return nil, nil
	}
	return t.ClientsByPhone(ctx, org, forms)
}

// personOf returns the patient in the form clients are compared with.
func (t *Tx) personOf(ctx context.Context, p patientEvent) (booking.Person, error) {
	person := booking.Person{Email: p.Email, SharedEmail: p.EmailShared, Shared: p.PhoneShared}
	var err error
	if person.Name, err = t.SearchForm(ctx, p.Name); err != nil {
		return person, err
	}
	return person, nil
}

// earlierPersons returns a patient, and the patient under each earlier name.
func (t *Tx) earlierPersons(ctx context.Context, p patientEvent, present booking.Person) ([]booking.Person, error) {
	persons := []booking.Person{present}
	for _, earlier := range p.Names[:min(len(p.Names), events.MaxEarlierNames)] {
		name, err := t.SearchForm(ctx, earlier)
		if err != nil {
			return nil, err
		}
		persons = append(persons, booking.Person{Name: name})
	}
	return persons, nil
}

func personsOf(clients []Client) []booking.Person {
	list := make([]booking.Person, len(clients))
	for i, client := range clients {
		list[i] = booking.Person{Name: client.NameSearch}
		if client.Email != nil {
			list[i].Email = *client.Email
		}
	}
	return list
}

// matchingClients returns the clients that are the person; see [booking.Person.Match].
func matchingClients(person booking.Person, clients []Client) (list []Client) {
	for _, i := range person.Match(personsOf(clients)) {
		list = append(list, clients[i])
	}
	return list
}

// agreeingClients returns the clients with the name or address of one of the persons, without
// those in excluded.
func agreeingClients(persons []booking.Person, clients, excluded []Client) (list []Client) {
	for i, candidate := range personsOf(clients) {
		agrees := func(person booking.Person) bool { return person.Agrees(candidate) }
		if slices.ContainsFunc(persons, agrees) && !containsClient(excluded, clients[i].ID) {
			list = append(list, clients[i])
		}
	}
	return list
}

func containsClient(list []Client, id uuid.UUID) bool {
	return slices.ContainsFunc(list, func(client Client) bool { return client.ID == id })
}

// handlePatientDeleted erases the client who is the patient. If several clients may be
// the patient, or the only one has another name and address, or only an earlier number, no
// client is erased and the organization is asked.
func (t *Tx) handlePatientDeleted(ctx context.Context, event hub.Event, p patientEvent) error {
	contacts := []Contact{{Phone: p.Phone}, {Email: p.Email}}
	for _, phone := range p.Phones {
		contacts = append(contacts, Contact{Phone: phone})
	}
	if err := t.lockContacts(ctx, event.TenantID, contacts...); err != nil { // concurrent bookings with these contacts wait
		return err
	}
	person, err := t.personOf(ctx, p)
	if err != nil {
		return err
	}
	candidates, err := t.clientsWithPhones(ctx, event.TenantID, p.Phone)
	if err != nil {
		return err
	}
	others, err := t.clientsWithPhones(ctx, event.TenantID, p.Phones...)
	if err != nil {
		return err
	}
	if p.Email != "" {
		byEmail, err := t.ClientsByEmail(ctx, event.TenantID, p.Email)
		if err != nil {
			return err
		}
		if len(candidates)+len(others) == 0 {
			candidates, person.Shared = byEmail, p.EmailShared
		} else if p.Name != "" { // same name and address: the patient under another number
			others = append(others, clientsNamed(person, byEmail)...)
		}
	}
	if len(candidates)+len(others) == 0 {
		return module.ErrIgnored
	}
	found := matchingClients(person, candidates)
	if len(candidates) == 1 && person.Contradicts(personsOf(candidates)[0]) {
		found = nil // erasure is final, so ask instead
	}
	// A former number of the patient may belong to another person now.
	persons, err := t.earlierPersons(ctx, p, person)
	if err != nil {
		return err
	}
	found = append(found, agreeingClients(persons, others, found)...)
	if len(found) == 0 {
		return t.enqueueAmbiguousErasure(ctx, event, p, candidates, others)
	}
	if err := t.addErasureTraces(ctx, event, p, found); err != nil {
		return err
	}
	for _, client := range found {
		if err := t.EraseClient(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// addErasureTraces passes the clients' names and addresses to the erasure of the
// hub's log, and which of their numbers and addresses other people share.
func (t *Tx) addErasureTraces(ctx context.Context, event hub.Event, p patientEvent, found []Client) error {
	var traces module.LogTraces
	isAnother := func(client Client) bool { return !containsClient(found, client.ID) }
	for _, client := range found {
		traces.Names = append(traces.Names, client.Name)
		if client.Email != nil {
			matches, err := t.ClientsByEmail(ctx, client.OrgID, *client.Email)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(matches, isAnother) || p.EmailShared && strings.EqualFold(*client.Email, p.Email) {
				traces.Shared = append(traces.Shared, *client.Email)
			} else {
				traces.Emails = append(traces.Emails, *client.Email)
			}
		}
		if client.PhoneE164 == nil {
			continue
		}
		matches, err := t.clientsWithPhones(ctx, client.OrgID, *client.PhoneE164)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(matches, isAnother) {
			traces.Shared = append(traces.Shared, *client.PhoneE164)
		} else {
			traces.Phones = append(traces.Phones, *client.PhoneE164)
		}
	}
	return t.Host.Erasures.AddTraces(ctx, t.Raw, event, traces)
}

// AmbiguousErasure is a deleted patient of whom it is not sure which client that is.
type AmbiguousErasure struct {
	Org       uuid.UUID   `json:"org_id"`
	RequestID string      `json:"deletion_request_id"` // the clinic's
	Clients   []uuid.UUID `json:"clients"`             // the possible clients
	Reason    string      `json:"reason"`              // why no client was erased; "" = several may be the patient
}

// Reasons of an [AmbiguousErasure].
const (
	ReasonOtherName     = "other_name"     // the only client with the patient's number or address has another name
	ReasonEarlierNumber = "earlier_number" // the clients have an earlier number of the patient, and another name
)

// enqueueAmbiguousErasure asks the organization which client the deleted patient is.
func (t *Tx) enqueueAmbiguousErasure(ctx context.Context, event hub.Event, p patientEvent, candidates, others []Client) error {
	erasure := AmbiguousErasure{Org: event.TenantID}
	switch {
	case len(candidates) == 0:
		erasure.Reason = ReasonEarlierNumber
	case len(candidates) == 1 && len(others) == 0:
		erasure.Reason = ReasonOtherName
	}
	if id, err := uuid.Parse(p.Request); err == nil {
		erasure.RequestID = id.String()
	}
	for _, client := range slices.Concat(candidates, others) {
		if !slices.Contains(erasure.Clients, client.ID) && len(erasure.Clients) < maxAmbiguousClients {
			erasure.Clients = append(erasure.Clients, client.ID)
		}
	}
	t.Host.Log.Warn("it is not sure which client a deleted patient is; nobody was erased", "reason", erasure.Reason, "organization", event.TenantID, "event", event.ID, "clients", len(erasure.Clients))
	payload, err := json.Marshal(erasure)
	if err != nil {
		return err
	}
	if err := t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobAmbiguousErasure, Payload: payload}); err != nil {
		return err
	}
	return module.ErrIgnored
}

const maxAmbiguousClients = 10 // named in the e-mail

// handlePatientCreated stores a new patient's e-mail address with the client who is
// the patient and has none.
func (t *Tx) handlePatientCreated(ctx context.Context, org uuid.UUID, p patientEvent) error {
	n, err := t.updateMatchingClient(ctx, org, p)
	if err == nil && n == 0 {
		err = module.ErrIgnored
	}
	return err
}

// updateMatchingClient updates name and address of the client who is the patient, where the
// stored ones came from the clinic or are missing. The client must have the patient's name; see
// [booking.Person.MayFillIn]. n is the number of updated clients.
func (t *Tx) updateMatchingClient(ctx context.Context, org uuid.UUID, p patientEvent) (n int64, err error) {
	clients, err := t.clientsWithPhones(ctx, org, p.Phone)
	if err != nil {
		return 0, err
	}
	person, err := t.personOf(ctx, p)
	if err != nil {
		return 0, err
	}
	byName := person
	byName.Shared = false // MayFillIn requires the name anyway
	if clients = matchingClients(byName, clients); len(clients) != 1 || !person.MayFillIn(personsOf(clients)[0]) {
		return 0, nil
	}
	p.Name = names.Clean(p.Name)
	if name := []rune(p.Name); len(name) > 120 {
		p.Name = string(name[:120])
	}
	if !booking.ValidEmail(p.Email) {
		p.Email = ""
	}
	return t.UpdateClientFromClinic(ctx, dbgen.UpdateClientFromClinicParams{OrgID: org, ID: clients[0].ID, Name: p.Name, Email: p.Email, Now: t.now})
}

// PatientChange is a patient whose name or address the clinic changed. The event does
// not contain the new values; [Store.UpdateClientFromPatient] stores what the clinic answers.
type PatientChange struct {
	Org       uuid.UUID   `json:"org_id"`
	Product   string      `json:"product"` // the clinic that sent the event
	PatientID string      `json:"patient_id"`
	Clients   []uuid.UUID `json:"clients"`         // who had the patient's number; it is read from them, as a client may be erased while the job waits
	Phone     string      `json:"phone,omitempty"` // instead of Clients, in jobs of earlier versions
	GiveUpAt  time.Time   `json:"until"`           // when retries end
}

// maxChangeClients is how many clients a [PatientChange] names.
const maxChangeClients = 10

// PatientPhone returns the number of a changed patient: that of the first client who still
// has one, "" if none has.
func (s *Store) PatientPhone(ctx context.Context, change PatientChange) (string, error) {
	if change.Phone != "" {
		return change.Phone, nil
	}
	for _, id := range change.Clients {
		client, err := s.ClientByID(ctx, change.Org, id)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
		case err != nil:
			return "", dberr.Wrap("loading a client", err)
		case client.PhoneE164 != nil:
			return *client.PhoneE164, nil
		}
	}
	return "", nil
}

// patientRefreshTTL is how long reading from an unreachable clinic is retried.
const patientRefreshTTL = 3 * 24 * time.Hour

// handlePatientUpdated enqueues reading a patient where that can change a client.
func (t *Tx) handlePatientUpdated(ctx context.Context, event hub.Event, p patientEvent) error {
	if !slices.Contains(p.Changed, "name") && !slices.Contains(p.Changed, "email") {
		return module.ErrIgnored
	}
	clients, err := t.clientsWithPhones(ctx, event.TenantID, p.Phone)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(clients, func(client Client) bool {
		return client.Email == nil || client.EmailSource == nameSourceClinic || client.NameSource == nameSourceClinic
	}) {
		return module.ErrIgnored
	}
	change := PatientChange{Org: event.TenantID, Product: event.Product, PatientID: p.ID, GiveUpAt: t.now.Add(patientRefreshTTL)}
	for _, client := range clients[:min(len(clients), maxChangeClients)] {
		change.Clients = append(change.Clients, client.ID)
	}
	payload, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobPatientRefresh, Payload: payload})
}

const nameSourceClinic = "clinic"

// UpdateClientFromPatient stores the name and address the clinic answered. phoneShared reports
// whether several patients have the phone.
func (s *Store) UpdateClientFromPatient(ctx context.Context, change PatientChange, name, email string, phoneShared bool) error {
	return s.InTx(ctx, "refreshing a client", func(tx *Tx) error {
		_, err := tx.updateMatchingClient(ctx, change.Org, patientEvent{Phone: change.Phone, Name: name, Email: email, PhoneShared: phoneShared})
		return err
	})
}

// clientsNamed returns the clients with the name of the person.
func clientsNamed(person booking.Person, clients []Client) (list []Client) {
	for i, candidate := range personsOf(clients) {
		if person.HasName(candidate.Name) {
			list = append(list, clients[i])
		}
	}
	return list
}

// EraseClient removes a client's personal data and keeps appointments and payments. It
// changes the client first: who writes an e-mail about the client holds that lock, so the
// e-mails deleted afterwards are all there are.
func (t *Tx) EraseClient(ctx context.Context, client Client) error {
	if err := t.AnonymizeClient(ctx, dbgen.AnonymizeClientParams{OrgID: client.OrgID, ID: client.ID, Now: t.now}); err != nil {
		return err
	}
	if err := t.ClearClientTexts(ctx, client.OrgID, client.ID); err != nil {
		return err
	}
	if err := t.eraseSourceIDs(ctx, client.OrgID, client.ID); err != nil {
		return err
	}
	return t.Host.Mail.EraseSubject(ctx, t.Raw, client.OrgID, client.ID.String())
}

// EraseClientByID is [Tx.EraseClient] by id; [hub.ErrNotFound] where there is none.
func (s *Store) EraseClientByID(ctx context.Context, org, id uuid.UUID) error {
	return s.InTx(ctx, "erasing a client", func(tx *Tx) error {
		client, err := tx.ClientByID(ctx, org, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return hub.NotFound("Client")
		}
		if err != nil {
			return err
		}
		contacts := []Contact{{}, {}}
		if client.Phone != nil {
			contacts[0].Phone = *client.Phone
		}
		if client.Email != nil {
			contacts[1].Email = *client.Email
		}
		if err := tx.lockContacts(ctx, org, contacts...); err != nil {
			return err
		}
		return tx.EraseClient(ctx, client)
	})
}
