package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// Interaction is a row of clinic.interactions.
type Interaction = dbgen.Interaction

// ListInteractions returns a page of a patient's interactions, newest first, and the total,
// counted up to [MaxCount].
func (s *Store) ListInteractions(ctx context.Context, scope Scope, patient uuid.UUID, page Page) (interactions []Interaction, total int, err error) {
	interactions, err = s.InteractionsPage(ctx, dbgen.InteractionsPageParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountInteractions(ctx, dbgen.CountInteractionsParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, MaxCount: MaxCount})
	return interactions, total, err
}

// Origin is the kind of caller that chose the source and source id of an interaction. Source ids are unique
// for each origin, so that one cannot block those of another.
type Origin string

// The origins.
const (
	OriginEvent Origin = "event" // the hub, for events; also the clinic itself
	OriginPeer  Origin = "peer"  // a connected product, for itself
	OriginKey   Origin = "key"   // the holder of a key that belongs to no product
)

// InteractionData is an entry of a patient's history: what a product, or the clinic, did.
type InteractionData struct {
	Type     string // lower_snake_case
	Summary  string
	Source   string // the product
	SourceID string // the product's id; the history has each once
	Origin   Origin
	At       time.Time
}

// MaxSummary is how many characters the summary of an interaction may have.
const MaxSummary = 4000

// LogInteraction adds an interaction to a patient's history. If the history has it
// already, that one is returned. It is a [hub.ErrConflict] if the same source stands for
// another interaction or another patient's; other errors like [Tx.LockUnerasedPatient].
func (t *Tx) LogInteraction(ctx context.Context, scope Scope, patient uuid.UUID, d InteractionData) (Interaction, error) {
	if err := t.LockUnerasedPatient(ctx, scope, patient); err != nil {
		return Interaction{}, err
	}
	interaction, err := t.AddInteraction(ctx, scope, patient, d)
	if err != nil || d.Origin == OriginEvent { // ids of events are generated and survive an erasure
		return interaction, err
	}
	// Checked after the insert: an erasure that runs at the same time has ended by now.
	erased, err := t.isErasedSource(ctx, scope, d)
	if err == nil && erased {
		err = errSourceReused()
	}
	return interaction, err
}

func errSourceReused() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "source_id_reused", "Another interaction was logged under this source_id before.")
}

// AddInteraction is [Tx.LogInteraction] for a patient whom the transaction has locked.
func (t *Tx) AddInteraction(ctx context.Context, scope Scope, patient uuid.UUID, d InteractionData) (Interaction, error) {
	d.Summary = HistorySummary(d.Summary)
	interaction, err := t.InsertInteraction(ctx, dbgen.InsertInteractionParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: NewID(), PatientID: patient, Type: d.Type, Summary: d.Summary,
		Source: d.Source, SourceID: d.SourceID, OccurredAt: d.At, Origin: string(d.Origin), CreatedAt: t.Now(),
	})
	if !errors.Is(err, pgx.ErrNoRows) {
		return interaction, err
	}
	interaction, err = t.InteractionBySource(ctx, dbgen.InteractionBySourceParams{ClinicID: scope.Clinic, Env: scope.Env, Source: d.Source, SourceID: d.SourceID, Origin: string(d.Origin)})
	if err == nil && (interaction.PatientID != patient || interaction.Type != d.Type || interaction.Summary != d.Summary) {
		err = errSourceReused()
	}
	return interaction, err
}

// HistorySummary returns a text as a history stores it: without CPFs and diagnosis codes,
// at most [MaxSummary] characters.
func HistorySummary(text string) string { return care.Truncate(care.Redact(text), MaxSummary) }

// isErasedSource reports whether an erased patient's history has an interaction with the
// same source.
func (t *Tx) isErasedSource(ctx context.Context, scope Scope, d InteractionData) (bool, error) {
	return t.ErasedSourceExists(ctx, dbgen.ErasedSourceExistsParams{
		ClinicID: scope.Clinic, Env: scope.Env, Sources: []string{d.Source, ErasedPlaceholder}, SourceID: t.ErasedExternalID(scope, d.Source, d.SourceID), Origin: string(d.Origin),
	})
}
