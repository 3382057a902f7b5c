package api

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Interaction is an entry of a patient's history.
type Interaction struct {
	ID         uuid.UUID `json:"id" doc:"Names the interaction"`
	PatientID  uuid.UUID `json:"patient_id" doc:"Patient it belongs to"`
	Type       string    `json:"interaction_type" doc:"Kind of what happened" example:"message_received"`
	Summary    string    `json:"summary" doc:"What happened, in words"`
	Source     string    `json:"source" doc:"The product it comes from"`
	SourceID   string    `json:"source_id" doc:"There; of events, the event's id"`
	OccurredAt time.Time `json:"occurred_at" doc:"When it happened"`
}

func toInteraction(i store.Interaction) Interaction {
	return Interaction{i.ID, i.PatientID, i.Type, i.Summary, i.Source, i.SourceID, i.OccurredAt.UTC()}
}

// clinicSource is the source of interactions that the clinic's users enter.
const clinicSource = "clinic"

var interactionType = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

func checkInteractionType(errs *rest.FieldErrors, s string) {
	errs.Check(interactionType.MatchString(s), "body.interaction_type", "must be at most 60 lower-case letters, digits and underscores, a letter first, such as message_received")
}

type interactionInput struct {
	rest.IDParam
	Body struct {
		Type       string                `json:"interaction_type" maxLength:"60" pattern:"^[a-z][a-z0-9_]{0,59}$" doc:"Kind of what happened" example:"phone_call"`
		Summary    string                `json:"summary" maxLength:"4000" doc:"What happened, in words"`
		OccurredAt rest.Optional[string] `json:"occurred_at,omitempty" maxLength:"35" doc:"Absent: now"`
	} `nameHint:"NewInteraction"`
}

func (a *API) createInteraction(ctx context.Context, in *interactionInput) (*struct{ Body Interaction }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var errs rest.FieldErrors
	checkInteractionType(&errs, in.Body.Type)
	d := store.InteractionData{Type: in.Body.Type, Summary: care.Redact(in.Body.Summary), Source: clinicSource, SourceID: uuid.NewString(), Origin: store.OriginEvent, At: a.host.Now()}
	if in.Body.OccurredAt.HasValue() {
		d.At = errs.ParseTime(in.Body.OccurredAt.Value, "body.occurred_at")
		errs.Check(!d.At.After(a.host.Now().Add(clockSkew)), "body.occurred_at", "must not be in the future")
	}
	errs.CheckLength(d.Summary, "body.summary", 0, store.MaxSummary)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var interaction store.Interaction
	err = a.store.InTx(ctx, "writing an interaction", func(tx *store.Tx) error {
		interaction, err = tx.LogInteraction(ctx, scope, in.ID, d)
		return err
	})
	return &struct{ Body Interaction }{toInteraction(interaction)}, err
}

func (a *API) listInteractions(ctx context.Context, in *PatientItemsInput) (*struct{ Body rest.Page[Interaction] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requirePatient(ctx, scope, in.ID); err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListInteractions(ctx, scope, in.ID, toPage(in.PageParams))
	return &struct{ Body rest.Page[Interaction] }{rest.NewPage(rest.Map(rows, toInteraction), total, in.PageParams)}, err
}

type logInteractionInput struct {
	Body struct {
		PatientPhone rest.Optional[string]    `json:"patient_phone,omitempty" maxLength:"40" doc:"Required without patient_id. Of several patients with the number the most likely one is taken" example:"+5511987654321"`
		PatientID    rest.Optional[uuid.UUID] `json:"patient_id,omitempty" format:"uuid" doc:"As search/patients returns it. With patient_phone, the patient has to have that number"`
		Type         string                   `json:"interaction_type" maxLength:"60" doc:"Lower-case, with underscores: message_received, ticket_closed, …"`
		Summary      rest.Optional[string]    `json:"summary,omitempty" maxLength:"4000" doc:"What happened, in words"`
		Source       rest.Optional[string]    `json:"source,omitempty" maxLength:"60" doc:"Originating product; absent: the key's. A connected product's key speaks for that product only, once the product is known"`
		SourceID     rest.Optional[string]    `json:"source_id,omitempty" maxLength:"200" doc:"Identifier there; the same one is logged once, and is refused with 409 for anything else"`
	} `nameHint:"LogInteraction"`
}

type logInteractionOutput struct {
	Body struct {
		Logged        bool      `json:"logged" doc:"Always true: it is in the patient's history"`
		InteractionID uuid.UUID `json:"interaction_id" doc:"Names what was logged"`
		PatientID     uuid.UUID `json:"patient_id" doc:"Patient it belongs to"`
	} `nameHint:"InteractionLogged"`
}

// logInteraction adds what a connected product did to the history of a patient.
func (a *API) logInteraction(ctx context.Context, in *logInteractionInput) (*logInteractionOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var errs rest.FieldErrors
	data := in.interaction(&errs, caller, a.host.Now())
	phone := &in.Body.PatientPhone
	errs.Check(phone.HasValue() || in.Body.PatientID.HasValue(), "body.patient_phone", "is required without patient_id")
	if phone.HasValue() {
		if err := a.completePhone(ctx, scope, &errs, &phone.Value, "body.patient_phone"); err != nil {
			return nil, err
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	out := &logInteractionOutput{}
	err = a.store.InTx(ctx, "logging an interaction", func(tx *store.Tx) error {
		patient, err := in.findPatient(ctx, tx, scope)
		if err != nil {
			return err
		}
		data.SourceID = tx.MaskExternalID(scope, data.SourceID)
		interaction, err := tx.LogInteraction(ctx, scope, patient, data)
		out.Body.Logged, out.Body.InteractionID, out.Body.PatientID = true, interaction.ID, interaction.PatientID
		return err
	})
	return out, err
}

// interaction returns the interaction of a request, and checks everything but its patient.
func (in *logInteractionInput) interaction(errs *rest.FieldErrors, caller module.Caller, now time.Time) store.InteractionData {
	b := &in.Body
	d := store.InteractionData{
		Type: b.Type, Summary: care.Redact(b.Summary.Value), Source: b.Source.Value, SourceID: b.SourceID.Value, Origin: store.OriginKey, At: now,
	}
	if caller.Peer != "" {
		d.Origin = store.OriginPeer
	}
	if d.Source == "" {
		d.Source = caller.Peer
	}
	if d.Source == "" {
		d.Source = "integration"
	}
	if d.SourceID == "" {
		d.SourceID = uuid.NewString()
	}
	checkInteractionType(errs, d.Type)
	errs.CheckLength(d.Summary, "body.summary", 0, store.MaxSummary)
	errs.CheckName(d.Source, "body.source", 60)
	errs.Check(caller.Peer == "" || d.Source == caller.Peer, "body.source", "must be the product that the key belongs to")
	errs.Check(!strings.EqualFold(strings.TrimSpace(d.Source), clinicSource), "body.source", "must not be the clinic itself")
	errs.CheckLength(d.SourceID, "body.source_id", 1, 200)
	for _, field := range []struct{ text, location string }{{d.Type, "body.interaction_type"}, {d.Source, "body.source"}} {
		errs.Check(care.RedactCPFs(field.text) == field.text, field.location, "must not have a CPF in it")
	}
	return d
}

// findPatient returns the patient of a request: the one with the id, who has to have the
// number if there is one too, else the most likely one with the number.
func (in *logInteractionInput) findPatient(ctx context.Context, tx *store.Tx, scope store.Scope) (uuid.UUID, error) {
	b := &in.Body
	if !b.PatientID.HasValue() {
		patients, err := tx.FindByPhone(ctx, scope, b.PatientPhone.Value)
		if err == nil && len(patients) == 0 {
			err = hub.Errorf(hub.ErrNotFound, "patient_not_found", "No patient has this phone number.")
		}
		if err != nil {
			return uuid.Nil, err
		}
		return patients[0].ID, nil
	}
	id := b.PatientID.Value
	patient, err := tx.Patient(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && patient.Status == store.Anonymized {
		return uuid.Nil, hub.Errorf(hub.ErrNotFound, "patient_not_found", "The clinic has no patient with this id.")
	}
	if err != nil || !b.PatientPhone.HasValue() {
		return id, err
	}
	hasPhone, err := tx.HasPhone(ctx, scope, id, b.PatientPhone.Value)
	if err == nil && !hasPhone {
		err = hub.Invalid("body.patient_id", "must be a patient with the number of patient_phone")
	}
	return id, err
}
