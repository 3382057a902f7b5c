package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
)

// contacts are the members of an event's data by which a person is known, at any depth.
type contacts struct {
	names, phones, emails []string
	ticketID              string
	appointmentID         string
	cpfs                  []string
}

// maxContacts bounds how many values of a kind are looked up.
const maxContacts = 20

// readContacts reads the contacts in an event's data, whatever the event's type. What it
// cannot read, it leaves out.
func readContacts(raw []byte) contacts {
	var data map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if decoder.Decode(&data) != nil {
		return contacts{}
	}
	c := contacts{ticketID: idText(data["ticket_id"]), appointmentID: idText(data["appointment_id"])}
	c.collect("", data)
	for _, list := range []*[]string{&c.names, &c.phones, &c.emails, &c.cpfs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		*list = (*list)[:min(len(*list), maxContacts)]
	}
	return c
}

// idText returns an id that is a text or an integer, "" for anything else.
func idText(value any) string {
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case json.Number:
		return value.String()
	}
	return ""
}

// collect adds the contacts in the value of a member.
func (c *contacts) collect(member string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			c.collect(name, inner)
		}
	case []any:
		for _, inner := range value {
			c.collect(member, inner)
		}
	case string, json.Number:
		text := idText(value)
		c.cpfs = append(c.cpfs, brazil.FindCPFs(text)...)
		switch {
		case text == "":
		case member == "name" || strings.HasSuffix(member, "_name"):
			c.names = append(c.names, store.FoldName(text))
		case strings.HasSuffix(member, "phone") || member == "phones":
			c.phones = append(c.phones, text)
		case strings.HasSuffix(member, "email") || member == "emails":
			c.emails = append(c.emails, text)
		}
	}
}

// ScreenEvent implements [module.EventScreener]. An event is about an erased patient if it
// has the name with the number or the address, a number, address or CPF that no other person
// had, or the ticket or appointment; unless it is about a patient who has the number now.
// Until the transaction ends nobody is erased: an erasure meanwhile would be in no answer, and
// would not see what the event leaves.
func (s *Service) ScreenEvent(ctx context.Context, raw pgx.Tx, e hub.Event) (module.Screening, error) {
	t, scope := s.join(s.store.Join(raw)), store.Scope{Clinic: e.TenantID, Env: e.Environment}
	if err := t.BlockErasures(ctx, scope); err != nil {
		return 0, err
	}
	c := readContacts(e.Data)
	for i, phone := range c.phones {
		complete, err := t.CompletePhone(ctx, scope.Clinic, phone)
		if err != nil {
			return 0, err
		}
		c.phones[i] = care.FormatE164(complete)
	}
	c.phones = slices.DeleteFunc(c.phones, func(phone string) bool { return phone == "" || care.IsFillerPhone(phone) })
	match, err := t.matchTombstones(ctx, scope, e.Product, c)
	if err != nil {
		return 0, err
	}
	if !match.isAny() && c.appointmentID != "" && strings.HasPrefix(e.Type, "appointment.") {
		match.subject, err = t.isErasedAppointment(ctx, scope, e.Product, c.appointmentID)
	}
	if err != nil || !match.isAny() {
		return module.Storable, err
	}
	return t.screenMatch(ctx, scope, e.Type, c, match)
}

// tombstoneMatch says which of an event's contacts are those of an erased patient.
type tombstoneMatch struct {
	named   bool // a name together with a number or an address
	phone   bool // a number alone
	email   bool // an address alone
	subject bool // the ticket or appointment
	cpf     bool
}

func (m tombstoneMatch) isAny() bool { return m.named || m.phone || m.email || m.subject || m.cpf }

// matchTombstones looks the contacts up among the tombstones.
func (t *transaction) matchTombstones(ctx context.Context, scope store.Scope, source string, c contacts) (match tombstoneMatch, err error) {
	flags := make(map[string]*bool)
	add := func(flag *bool, hashes ...[]byte) {
		for _, hash := range hashes {
			flags[string(hash)] = flag
		}
	}
	for _, name := range c.names {
		for _, phone := range c.phones {
			add(&match.named, t.Tombstones(scope, store.TombstoneIdentifiers{Name: name, Phone: &phone})...)
		}
		for _, email := range c.emails {
			add(&match.named, t.Tombstones(scope, store.TombstoneIdentifiers{Name: name, Email: &email})...)
		}
	}
	for _, phone := range c.phones {
		add(&match.phone, t.PhoneTombstone(scope, phone))
	}
	for _, email := range c.emails {
		add(&match.email, t.EmailTombstone(scope, email))
	}
	for _, cpf := range c.cpfs {
		add(&match.cpf, t.Tombstones(scope, store.TombstoneIdentifiers{CPFHash: t.CPFHasher(scope)(cpf)})...)
	}
	if c.ticketID != "" {
		add(&match.subject, t.TicketTombstone(scope, source, c.ticketID), t.TicketTombstone(scope, source, t.MaskSubjectID(scope, c.ticketID)))
	}
	if len(flags) == 0 {
		return match, nil
	}
	hashes := make([][]byte, 0, len(flags))
	for hash := range flags {
		hashes = append(hashes, []byte(hash))
	}
	found, err := t.FindTombstones(ctx, scope.Clinic, scope.Env, hashes)
	for _, hash := range found {
		*flags[string(hash)] = true
	}
	return match, err
}

// isErasedAppointment reports whether an appointment belongs to an erased patient.
func (t *transaction) isErasedAppointment(ctx context.Context, scope store.Scope, source, id string) (bool, error) {
	ids := []string{id}
	if !store.IsGeneratedID(id) {
		ids = []string{t.ErasedExternalID(scope, source, t.MaskSubjectID(scope, id)), t.ErasedExternalID(scope, source, id)} // the second is from before ids were masked
	}
	for _, id := range slices.Compact(ids) {
		patient, err := t.PatientByAppointment(ctx, dbgen.PatientByAppointmentParams{ClinicID: scope.Clinic, Env: scope.Env, Source: &source, ExternalID: &id})
		if !errors.Is(err, pgx.ErrNoRows) {
			return patient.Status == store.Anonymized, err
		}
	}
	return false, nil
}

// screenMatch decides about an event that has something of an erased patient. A patient who
// has the number now may be another one, such as a child, or the same person again.
func (t *transaction) screenMatch(ctx context.Context, scope store.Scope, eventType string, c contacts, match tombstoneMatch) (module.Screening, error) {
	present := make(map[uuid.UUID]store.Patient)
	for _, phone := range c.phones {
		patients, err := t.FindByPhone(ctx, scope, phone)
		if err != nil {
			return 0, err
		}
		for _, patient := range patients {
			present[patient.ID] = patient
		}
	}
	hasSameName, hasSameEmail := false, false
	for _, patient := range present {
		hasSameName = hasSameName || slices.Contains(c.names, store.FoldName(patient.Name))
		hasSameEmail = hasSameEmail || patient.Email != nil && slices.ContainsFunc(c.emails, func(email string) bool { return strings.EqualFold(email, *patient.Email) })
	}
	isUpdate := strings.HasPrefix(eventType, "appointment.") && eventType != events.TypeAppointmentCreated || eventType == events.TypeTicketClosed
	switch {
	case len(present) == 0, match.named && !hasSameName, match.subject && isUpdate:
		return module.IsAboutErased, nil
	case match.cpf, match.email && !hasSameEmail:
		return module.NamesErased, nil
	}
	return module.Storable, nil
}
