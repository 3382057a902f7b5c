package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// patient is what events of the clinic tell of one.
type patient struct {
	ID      string   `json:"patient_id"`
	Phone   string   `json:"phone"`
	Phones  []string `json:"phones"` // that were the patient's, or still are
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Changed []string `json:"changed_fields"`
	Shared  bool     `json:"phone_shared"`
	Request string   `json:"deletion_request_id"`
}

// byPhone finds the clients under any of the phones; none where those are "".
func (t *Tx) byPhone(ctx context.Context, org uuid.UUID, phones ...string) ([]dbgen.Client, error) {
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

// person is the patient as clients are compared with.
func (t *Tx) person(ctx context.Context, p patient) (booking.Person, error) {
	name, err := t.SearchForm(ctx, p.Name)
	return booking.Person{Name: name, Email: p.Email, Shared: p.Shared}, err
}

func persons(clients []dbgen.Client) []booking.Person {
	list := make([]booking.Person, len(clients))
	for i, c := range clients {
		list[i] = booking.Person{Name: c.NameSearch}
		if c.Email != nil {
			list[i].Email = *c.Email
		}
	}
	return list
}

// which are those of the clients who are somebody.
func which(who booking.Person, clients []dbgen.Client) (list []dbgen.Client) {
	for _, i := range who.Which(persons(clients)) {
		list = append(list, clients[i])
	}
	return list
}

// agreeing are those of the clients who have somebody's name or address, without those
// in the list already.
func agreeing(who booking.Person, clients, without []dbgen.Client) (list []dbgen.Client) {
	for i, one := range persons(clients) {
		if who.Agrees(one) && !has(without, clients[i].ID) {
			list = append(list, clients[i])
		}
	}
	return list
}

func has(list []dbgen.Client, id uuid.UUID) bool {
	return slices.ContainsFunc(list, func(c dbgen.Client) bool { return c.ID == id })
}

// patientDeleted forgets the client who is the patient. Where that may be one of several
// and nothing decides it, or the only one has another name and another address, nobody
// is forgotten and the organization is asked to.
func (t *Tx) patientDeleted(ctx context.Context, e hub.Event, p patient) error {
	contacts := []Contact{{Phone: p.Phone}, {Email: p.Email}}
	for _, phone := range p.Phones {
		contacts = append(contacts, Contact{Phone: phone})
	}
	if err := t.lockContact(ctx, e.TenantID, contacts...); err != nil { // who books at this moment is forgotten with it
		return err
	}
	who, err := t.person(ctx, p)
	if err != nil {
		return err
	}
	candidates, err := t.byPhone(ctx, e.TenantID, p.Phone)
	if err != nil {
		return err
	}
	others, err := t.byPhone(ctx, e.TenantID, p.Phones...)
	if err != nil {
		return err
	}
	if p.Email != "" {
		mailed, err := t.ClientsByEmail(ctx, e.TenantID, p.Email)
		if err != nil {
			return err
		}
		if len(candidates)+len(others) == 0 {
			candidates = mailed
		} else if p.Name != "" { // the name besides: the patient under yet another number
			others = append(others, namesakes(who, mailed)...)
		}
	}
	if len(candidates)+len(others) == 0 {
		return module.ErrIgnored
	}
	found := which(who, candidates)
	if len(candidates) == 1 && who.Contradicts(persons(candidates)[0]) {
		found = nil // what is forgotten does not come back: rather ask
	}
	// A number that was the patient's once may be somebody else's by now.
	found = append(found, agreeing(who, others, found)...)
	if len(found) == 0 {
		return t.unclear(ctx, e, p, append(candidates, others...))
	}
	if err := t.traces(ctx, e, found); err != nil {
		return err
	}
	for _, c := range found {
		if err := t.Forget(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// traces tells the hub's log what the clients went by here, and which of their numbers
// are other clients' too.
func (t *Tx) traces(ctx context.Context, e hub.Event, found []dbgen.Client) error {
	var known module.Traces
	for _, c := range found {
		known.Names = append(known.Names, c.Name)
		if c.Email != nil {
			known.Emails = append(known.Emails, *c.Email)
		}
		if c.PhoneE164 == nil {
			continue
		}
		same, err := t.byPhone(ctx, c.OrgID, *c.PhoneE164)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(same, func(one dbgen.Client) bool { return !has(found, one.ID) }) {
			known.Shared = append(known.Shared, *c.PhoneE164)
		} else {
			known.Phones = append(known.Phones, *c.PhoneE164)
		}
	}
	return t.host.Erasures.AddTraces(ctx, t.Raw, e, known)
}

// Unclear is a patient whom the clinic deleted and who may be one of several clients.
type Unclear struct {
	Org     uuid.UUID   `json:"org_id"`
	Request string      `json:"deletion_request_id"` // the clinic's
	Clients []uuid.UUID `json:"clients"`             // who it may be
}

// unclear has the organization asked who a deleted patient is.
func (t *Tx) unclear(ctx context.Context, e hub.Event, p patient, candidates []dbgen.Client) error {
	told := Unclear{Org: e.TenantID}
	if id, err := uuid.Parse(p.Request); err == nil {
		told.Request = id.String()
	}
	for _, c := range candidates {
		if !slices.Contains(told.Clients, c.ID) && len(told.Clients) < unclearAtMost {
			told.Clients = append(told.Clients, c.ID)
		}
	}
	t.host.Log.Warn("a deleted patient may be one of several clients; nobody was forgotten", "organization", e.TenantID, "event", e.ID, "clients", len(told.Clients))
	payload, err := json.Marshal(told)
	if err != nil {
		return err
	}
	if err := t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobUnclear, Payload: payload}); err != nil {
		return err
	}
	return module.ErrIgnored
}

const unclearAtMost = 10 // clients whom a letter names

// patientCreated takes the address of a new patient for the client who is the patient
// and has none.
func (t *Tx) patientCreated(ctx context.Context, org uuid.UUID, p patient) error {
	n, err := t.refresh(ctx, org, p)
	if err == nil && n == 0 {
		err = module.ErrIgnored
	}
	return err
}

// refresh takes a patient's name and address for the client who is the patient, where
// there are none but the clinic's; n tells how many clients changed.
func (t *Tx) refresh(ctx context.Context, org uuid.UUID, p patient) (n int64, err error) {
	clients, err := t.byPhone(ctx, org, p.Phone)
	if err != nil {
		return 0, err
	}
	who, err := t.person(ctx, p)
	if err != nil {
		return 0, err
	}
	if clients = which(who, clients); len(clients) != 1 {
		return 0, nil
	}
	if name := []rune(p.Name); len(name) > 120 {
		p.Name = string(name[:120])
	}
	if !booking.ValidEmail(p.Email) {
		p.Email = ""
	}
	return t.RefreshClient(ctx, dbgen.RefreshClientParams{OrgID: org, ID: clients[0].ID, Name: p.Name, Email: p.Email, Now: t.now})
}

// Changed is a patient whose name or address the clinic changed. The event says that
// it did, not to what: [Store.Reread] takes what the clinic answered.
type Changed struct {
	Org     uuid.UUID `json:"org_id"`
	Product string    `json:"product"` // that told
	Patient string    `json:"patient_id"`
	Phone   string    `json:"phone"` // as it was before the change
	Until   time.Time `json:"until"` // when it is given up
}

// changedTime is how long a clinic that is away is asked again.
const changedTime = 3 * 24 * time.Hour

// patientUpdated has a patient read back where that can change a client.
func (t *Tx) patientUpdated(ctx context.Context, e hub.Event, p patient) error {
	if !slices.Contains(p.Changed, "name") && !slices.Contains(p.Changed, "email") {
		return module.ErrIgnored
	}
	clients, err := t.byPhone(ctx, e.TenantID, p.Phone)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(clients, func(c dbgen.Client) bool {
		return c.Email == nil || c.EmailSource == sourceClinic || c.NameSource == sourceClinic
	}) {
		return module.ErrIgnored
	}
	payload, err := json.Marshal(Changed{e.TenantID, e.Product, p.ID, p.Phone, t.now.Add(changedTime)})
	if err != nil {
		return err
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobPatients, Payload: payload})
}

const sourceClinic = "clinic"

// Reread takes what the clinic answered about a patient who changed.
func (s *Store) Reread(ctx context.Context, c Changed, name, email string) error {
	return s.InTx(ctx, "refreshing a client", func(tx *Tx) error {
		_, err := tx.refresh(ctx, c.Org, patient{Phone: c.Phone, Name: name, Email: email})
		return err
	})
}

// namesakes are those of the clients who have somebody's name.
func namesakes(who booking.Person, clients []dbgen.Client) (list []dbgen.Client) {
	for i, one := range persons(clients) {
		if (booking.Person{Name: who.Name}).Agrees(one) {
			list = append(list, clients[i])
		}
	}
	return list
}

// Forget keeps a client's bookings and money and forgets who it was.
func (t *Tx) Forget(ctx context.Context, c dbgen.Client) error {
	if err := t.host.Mail.EraseSubject(ctx, t.Raw, c.OrgID, c.ID.String()); err != nil {
		return err
	}
	if err := t.ClearTracesOfClient(ctx, c.OrgID, c.ID); err != nil {
		return err
	}
	return t.AnonymizeClient(ctx, dbgen.AnonymizeClientParams{OrgID: c.OrgID, ID: c.ID, Now: t.now})
}

// ForgetClient is [Tx.Forget] for a client by its id; [hub.ErrNotFound].
func (s *Store) ForgetClient(ctx context.Context, org, id uuid.UUID) error {
	return s.InTx(ctx, "forgetting a client", func(tx *Tx) error {
		c, err := tx.ClientByID(ctx, org, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing("Client")
		}
		if err != nil {
			return err
		}
		contacts := []Contact{{}, {}}
		if c.Phone != nil {
			contacts[0].Phone = *c.Phone
		}
		if c.Email != nil {
			contacts[1].Email = *c.Email
		}
		if err := tx.lockContact(ctx, org, contacts...); err != nil {
			return err
		}
		return tx.Forget(ctx, c)
	})
}
