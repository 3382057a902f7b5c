package api

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/rest"
)

// Interaction is an entry of a patient's history.
type Interaction struct {
	ID         uuid.UUID `json:"id"`
	PatientID  uuid.UUID `json:"patient_id"`
	Type       string    `json:"interaction_type" example:"message_received"`
	Summary    string    `json:"summary"`
	Source     string    `json:"source" doc:"The product it comes from"`
	SourceID   string    `json:"source_id" doc:"There; of events, the event's id"`
	OccurredAt time.Time `json:"occurred_at"`
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
		Type       string                `json:"interaction_type" example:"phone_call"`
		Summary    string                `json:"summary" maxLength:"4000"`
		OccurredAt rest.Optional[string] `json:"occurred_at,omitempty" doc:"Absent: now"`
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
		PatientPhone string                `json:"patient_phone" maxLength:"40" example:"+5511987654321"`
		Type         string                `json:"interaction_type" doc:"Lower-case, with underscores: message_received, ticket_closed, …"`
		Summary      rest.Optional[string] `json:"summary,omitempty"`
		Source       rest.Optional[string] `json:"source,omitempty" doc:"Originating product; absent: the key's. A connected product's key speaks for that product only"`
		SourceID     rest.Optional[string] `json:"source_id,omitempty" doc:"Identifier there; the same one is logged once, and is refused with 409 for anything else"`
	} `nameHint:"LogInteraction"`
}

type logInteractionOutput struct {
	Body struct {
		Logged        bool      `json:"logged"`
		InteractionID uuid.UUID `json:"interaction_id"`
		PatientID     uuid.UUID `json:"patient_id"`
	} `nameHint:"InteractionLogged"`
}

// logInteraction adds what a connected product did to the history of the patient with a phone
// number.
func (a *API) logInteraction(ctx context.Context, in *logInteractionInput) (*logInteractionOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	d := store.InteractionData{
		Type: b.Type, Summary: care.Redact(b.Summary.Value), Source: b.Source.Value, SourceID: b.SourceID.Value, Origin: store.OriginKey, At: a.host.Now(),
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
	var errs rest.FieldErrors
	if err := a.completePhone(ctx, scope, &errs, &b.PatientPhone, "body.patient_phone"); err != nil {
		return nil, err
	}
	checkInteractionType(&errs, d.Type)
	errs.CheckLength(d.Summary, "body.summary", 0, store.MaxSummary)
	errs.CheckName(d.Source, "body.source", 60)
	errs.Check(caller.Peer == "" || d.Source == caller.Peer, "body.source", "must be the product that the key belongs to")
	errs.Check(!strings.EqualFold(strings.TrimSpace(d.Source), clinicSource), "body.source", "must not be the clinic itself")
	errs.CheckLength(d.SourceID, "body.source_id", 1, 200)
	for _, field := range []struct{ text, location string }{{d.Type, "body.interaction_type"}, {d.Source, "body.source"}} {
		errs.Check(care.RedactCPFs(field.text) == field.text, field.location, "must not have a CPF in it")
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	out := &logInteractionOutput{}
	err = a.store.InTx(ctx, "logging an interaction", func(tx *store.Tx) error {
		patients, err := tx.FindByPhone(ctx, scope, b.PatientPhone)
		if err != nil {
			return err
		}
		if len(patients) == 0 {
			return hub.Errorf(hub.ErrNotFound, "patient_not_found", "No patient has this phone number.")
		}
		d.SourceID = tx.MaskExternalID(scope, d.SourceID)
		interaction, err := tx.LogInteraction(ctx, scope, patients[0].ID, d)
		out.Body.Logged, out.Body.InteractionID, out.Body.PatientID = true, interaction.ID, interaction.PatientID
		return err
	})
	return out, err
}
