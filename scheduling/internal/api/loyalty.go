package api

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// LoyaltyConfig is an organization's loyalty program.
type LoyaltyConfig struct {
	Enabled               bool          `json:"enabled"`
	ProgramName           string        `json:"program_name"`
	AccrualType           string        `json:"accrual_type" enum:"spend,visit"`
	PointsPerCurrencyUnit booking.Cents `json:"points_per_currency_unit"`
	PointsPerVisit        int64         `json:"points_per_visit"`
	MinSpend              booking.Cents `json:"min_spend"`
	Rounding              string        `json:"rounding" enum:"floor,round,ceil"`
	SignupBonus           int64         `json:"signup_bonus"`
	BirthdayBonus         int64         `json:"birthday_bonus"`
	PointsExpirationDays  *int          `json:"points_expiration_days"`
	EligibleServiceIDs    []uuid.UUID   `json:"eligible_service_ids" nullable:"true" doc:"null: all"`
	Rewards               []Reward      `json:"rewards" nullable:"false"`
	Terminology           Terminology   `json:"terminology"`
	UpdatedAt             time.Time     `json:"updated_at"`
}

// Terminology is what points are called.
type Terminology struct {
	Singular string `json:"one" maxLength:"40"`
	Plural   string `json:"other" maxLength:"40"`
}

// Reward is something points can be exchanged for.
type Reward struct {
	ID        uuid.UUID          `json:"id"`
	Name      string             `json:"name"`
	Points    int64              `json:"points"`
	Type      booking.RewardType `json:"type" enum:"fixed_discount,percent_discount,free_service"`
	Value     booking.Cents      `json:"value"`
	ServiceID *uuid.UUID         `json:"service_id"`
	IsActive  bool               `json:"is_active"`
}

type configureLoyaltyInput struct {
	Body struct {
		Enabled               optional[bool]           `json:"enabled,omitempty"`
		ProgramName           optional[string]         `json:"program_name,omitempty"`
		AccrualType           optional[string]         `json:"accrual_type,omitempty" enum:"spend,visit"`
		PointsPerCurrencyUnit optional[booking.Cents]  `json:"points_per_currency_unit,omitempty"`
		PointsPerVisit        optional[int64]          `json:"points_per_visit,omitempty"`
		MinSpend              optional[booking.Cents]  `json:"min_spend,omitempty"`
		Rounding              optional[string]         `json:"rounding,omitempty" enum:"floor,round,ceil"`
		SignupBonus           optional[int64]          `json:"signup_bonus,omitempty"`
		BirthdayBonus         optional[int64]          `json:"birthday_bonus,omitempty"`
		PointsExpirationDays  optional[int]            `json:"points_expiration_days,omitempty"`
		EligibleServiceIDs    optional[[]uuid.UUID]    `json:"eligible_service_ids,omitempty"`
		Rewards               optional[[]rewardFields] `json:"rewards,omitempty" doc:"All of them: those without an id are new, those not named end"`
		Terminology           *Terminology             `json:"terminology,omitempty"`
	} `nameHint:"LoyaltyFields"`
}

type rewardFields struct {
	ID        optional[uuid.UUID]     `json:"id,omitempty"`
	Name      string                  `json:"name" maxLength:"120"`
	Points    int64                   `json:"points"`
	Type      booking.RewardType      `json:"type" enum:"fixed_discount,percent_discount,free_service"`
	Value     optional[booking.Cents] `json:"value,omitempty"`
	ServiceID optional[uuid.UUID]     `json:"service_id,omitempty"`
	IsActive  optional[bool]          `json:"is_active,omitempty"`
}

type loyaltyOutput struct{ Body LoyaltyConfig }

func toReward(r dbgen.LoyaltyReward) Reward {
	return Reward{r.ID, r.Name, r.Points, booking.RewardType(r.Type), booking.Cents(r.Value), r.ServiceID, r.IsActive}
}

func (a *API) getLoyaltyConfig(ctx context.Context, _ *struct{}) (*loyaltyOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	p, err := a.store.LoyaltyProgram(ctx, org.ID)
	if err != nil {
		return nil, err
	}
	rewards, err := a.store.Rewards(ctx, org.ID)
	return &loyaltyOutput{LoyaltyConfig{
		Enabled: p.Enabled, ProgramName: p.ProgramName, AccrualType: p.AccrualType, PointsPerCurrencyUnit: booking.Cents(p.PointsPerHundred),
		PointsPerVisit: p.PointsPerVisit, MinSpend: p.MinSpendCents, Rounding: p.Rounding, SignupBonus: p.SignupBonus, BirthdayBonus: p.BirthdayBonus,
		PointsExpirationDays: p.PointsExpirationDays, EligibleServiceIDs: p.EligibleServiceIds, Rewards: rest.Map(rewards, toReward),
		Terminology: Terminology{p.TermOne, p.TermOther}, UpdatedAt: p.UpdatedAt.In(org.Zone),
	}}, err
}

// applyTo applies the fields to a program.
func (in *configureLoyaltyInput) applyTo(p *dbgen.LoyaltyProgram) {
	b := &in.Body
	b.Enabled.ApplyTo(&p.Enabled)
	b.ProgramName.ApplyTo(&p.ProgramName)
	b.AccrualType.ApplyTo(&p.AccrualType)
	perHundred := booking.Cents(p.PointsPerHundred)
	b.PointsPerCurrencyUnit.ApplyTo(&perHundred)
	p.PointsPerHundred = int64(perHundred)
	b.PointsPerVisit.ApplyTo(&p.PointsPerVisit)
	b.MinSpend.ApplyTo(&p.MinSpendCents)
	b.Rounding.ApplyTo(&p.Rounding)
	b.SignupBonus.ApplyTo(&p.SignupBonus)
	b.BirthdayBonus.ApplyTo(&p.BirthdayBonus)
	b.PointsExpirationDays.ApplyToNullable(&p.PointsExpirationDays)
	if b.EligibleServiceIDs.Set {
		p.EligibleServiceIds = b.EligibleServiceIDs.Value
	}
	if b.Terminology != nil {
		p.TermOne, p.TermOther = b.Terminology.Singular, b.Terminology.Plural
	}
}

// mergeRewards are the program's rewards as they will be, and the services they name.
func (in *configureLoyaltyInput) mergeRewards(org uuid.UUID, kept []dbgen.LoyaltyReward) (list []dbgen.LoyaltyReward, err error) {
	if !in.Body.Rewards.HasValue() {
		return kept, nil
	}
	known := make(map[uuid.UUID]bool, len(kept))
	for _, r := range kept {
		known[r.ID] = true
	}
	for i, f := range in.Body.Rewards.Value {
		r := dbgen.LoyaltyReward{OrgID: org, ID: store.NewID(), Name: f.Name, Points: f.Points, Type: string(f.Type), Value: int64(f.Value.Value), IsActive: true, Position: i}
		if f.ID.HasValue() {
			if r.ID = f.ID.Value; !known[r.ID] {
				return nil, hub.NotFound("Reward")
			}
			delete(known, r.ID) // named once only
		}
		f.ServiceID.ApplyToNullable(&r.ServiceID)
		f.IsActive.ApplyTo(&r.IsActive)
		list = append(list, r)
	}
	return list, nil
}

// validate finds money that the currency does not have.
func (in *configureLoyaltyInput) validate(currency string) error {
	var wrong fieldErrors
	wrong.checkAmount(in.Body.MinSpend, currency, "body.min_spend")
	for i, f := range in.Body.Rewards.Value {
		if f.Type == booking.FixedDiscount {
			wrong.checkAmount(f.Value, currency, fmt.Sprintf("body.rewards[%d].value", i))
		}
	}
	return wrong.Err()
}

func (a *API) configureLoyalty(ctx context.Context, in *configureLoyaltyInput) (*loyaltyOutput, error) {
	here, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.validate(here.Currency); err != nil {
		return nil, err
	}
	org := here.ID
	err = a.store.InTx(ctx, "updating the loyalty program", func(tx *store.Tx) error {
		p, err := tx.LockLoyaltyProgram(ctx, org)
		if err != nil {
			return err
		}
		kept, err := tx.Rewards(ctx, org)
		if err != nil {
			return err
		}
		in.applyTo(&p)
		rewards, err := in.mergeRewards(org, kept)
		if err != nil {
			return err
		}
		rules := store.LoyaltyRules(p, rewards)
		if err := rules.Validate(); err != nil {
			return err
		}
		if len([]rune(p.ProgramName)) > 120 {
			return hub.Invalid("body.program_name", "is too long")
		}
		if err := requireServices(ctx, tx, org, p.EligibleServiceIds, rewards); err != nil {
			return err
		}
		return saveProgram(ctx, tx, p, rewards)
	})
	if err != nil {
		return nil, err
	}
	return a.getLoyaltyConfig(ctx, nil)
}

// requireServices checks that the services a program names are the organization's.
func requireServices(ctx context.Context, tx *store.Tx, org uuid.UUID, ids []uuid.UUID, rewards []dbgen.LoyaltyReward) error {
	named := make(map[uuid.UUID]bool)
	for _, id := range ids {
		named[id] = true
	}
	for _, r := range rewards {
		if r.ServiceID != nil {
			named[*r.ServiceID] = true
		}
	}
	list := make([]uuid.UUID, 0, len(named))
	for id := range named {
		list = append(list, id)
	}
	n, err := tx.CountServices(ctx, org, list)
	if err == nil && n != len(list) {
		return hub.NotFound("Service")
	}
	return err
}

func saveProgram(ctx context.Context, tx *store.Tx, p dbgen.LoyaltyProgram, rewards []dbgen.LoyaltyReward) error {
	err := tx.UpdateLoyaltyProgram(ctx, dbgen.UpdateLoyaltyProgramParams{
		OrgID: p.OrgID, Enabled: p.Enabled, ProgramName: p.ProgramName, AccrualType: p.AccrualType, PointsPerHundred: p.PointsPerHundred,
		PointsPerVisit: p.PointsPerVisit, MinSpendCents: p.MinSpendCents, Rounding: p.Rounding, SignupBonus: p.SignupBonus, BirthdayBonus: p.BirthdayBonus,
		PointsExpirationDays: p.PointsExpirationDays, EligibleServiceIds: p.EligibleServiceIds, TermOne: p.TermOne, TermOther: p.TermOther, UpdatedAt: tx.Now(),
	})
	if err != nil {
		return err
	}
	kept := make([]uuid.UUID, 0, len(rewards))
	for _, r := range rewards {
		kept = append(kept, r.ID)
		err := tx.PutReward(ctx, dbgen.PutRewardParams{
			OrgID: r.OrgID, ID: r.ID, Name: r.Name, Points: r.Points, Type: r.Type, Value: r.Value, ServiceID: r.ServiceID, IsActive: r.IsActive, Position: r.Position,
		})
		if err != nil {
			return err
		}
	}
	return tx.DropRewards(ctx, dbgen.DropRewardsParams{OrgID: p.OrgID, Now: tx.Now(), Kept: kept})
}

// ClientPoints is where a client stands in the program.
type ClientPoints struct {
	ClientID           uuid.UUID         `json:"client_id"`
	ClientName         string            `json:"client_name"`
	Balance            int64             `json:"balance"`
	LifetimeEarned     int64             `json:"lifetime_earned"`
	LifetimeRedeemed   int64             `json:"lifetime_redeemed"`
	NextReward         *Reward           `json:"next_reward"`
	PointsToNextReward *int64            `json:"points_to_next_reward"`
	ExpiringPoints     int64             `json:"expiring_points"`
	ExpiringAt         *time.Time        `json:"expiring_at"`
	History            Page[PointsEntry] `json:"history"`
}

// PointsEntry is one line of a client's points.
type PointsEntry struct {
	ID            uuid.UUID  `json:"id"`
	Type          string     `json:"type" enum:"earn,redeem,adjust,expire,reverse,bonus"`
	Points        int64      `json:"points"`
	BalanceAfter  int64      `json:"balance_after"`
	AppointmentID *uuid.UUID `json:"appointment_id"`
	PaymentID     *uuid.UUID `json:"payment_id"`
	RewardID      *uuid.UUID `json:"reward_id"`
	Description   string     `json:"description"`
	CreatedAt     time.Time  `json:"created_at"`
}

type pointsOutput struct{ Body ClientPoints }

func (a *API) getClientPoints(ctx context.Context, in *clientListInput) (*pointsOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	client, err := a.store.ClientByID(ctx, org.ID, in.ID)
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Client", err)
	}
	program, err := store.LoadLoyalty(ctx, a.store.Queries, org.ID)
	if err != nil {
		return nil, err
	}
	lifetime, err := a.store.Lifetime(ctx, org.ID, in.ID)
	if err != nil {
		return nil, err
	}
	ledger, err := a.store.Ledger(ctx, org.ID, in.ID)
	if err != nil {
		return nil, err
	}
	entries, err := a.store.Entries(ctx, dbgen.EntriesParams{OrgID: org.ID, ClientID: in.ID, RowLimit: in.PerPage, RowOffset: in.Offset()})
	if err != nil {
		return nil, err
	}
	shown := ClientPoints{
		ClientID: client.ID, ClientName: client.Name, Balance: client.LoyaltyPoints, LifetimeEarned: lifetime.Earned, LifetimeRedeemed: lifetime.Redeemed,
	}
	if next, left := program.NextReward(client.LoyaltyPoints); next != nil {
		shown.NextReward = &Reward{next.ID, next.Name, next.Points, next.Type, next.Value, next.Service, next.Active}
		shown.PointsToNextReward = &left
	}
	lots := rest.Map(ledger, func(r dbgen.LedgerRow) booking.LedgerEntry {
		return booking.LedgerEntry{Points: r.Points, At: r.CreatedAt}
	})
	_, expiring, at := program.Expiry(lots, a.host.Now(), org.Zone)
	shown.ExpiringPoints, shown.ExpiringAt = expiring, inZone(&at, org.Zone)
	shown.History = rest.NewPage(rest.Map(entries, func(e dbgen.EntriesRow) PointsEntry {
		return PointsEntry{e.ID, e.Type, e.Points, e.BalanceAfter, e.AppointmentID, e.PaymentID, e.RewardID, e.Description, e.CreatedAt.In(org.Zone)}
	}), len(ledger), in.Paging)
	return &pointsOutput{shown}, nil
}

type redeemRewardInput struct {
	ByID
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same request with the same key takes points once, for 24 hours"`
	Body           struct {
		RewardID      uuid.UUID           `json:"reward_id"`
		AppointmentID optional[uuid.UUID] `json:"appointment_id,omitempty" doc:"The reward's discount is taken off its price, once"`
	} `nameHint:"Redeem"`
}

func (a *API) redeemReward(ctx context.Context, in *redeemRewardInput) (*pointsOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	r := store.Redemption{Client: in.ID, Reward: in.Body.RewardID}
	in.Body.AppointmentID.ApplyToNullable(&r.Appointment)
	once, err := newIdempotencyKey("loyalty.redeem", in.IdempotencyKey, r)
	if err != nil {
		return nil, err
	}
	if err := a.store.RedeemReward(ctx, org, r, once); err != nil {
		return nil, err
	}
	return a.getClientPoints(ctx, &clientListInput{ByID: in.ByID, Paging: Paging{Page: 1, PerPage: 20}})
}

type adjustPointsInput struct {
	ByID
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same request with the same key counts once, for 24 hours"`
	Body           struct {
		Points int64  `json:"points" minimum:"-1000000" maximum:"1000000"`
		Reason string `json:"reason" minLength:"1" maxLength:"200"`
	} `nameHint:"AdjustPoints"`
}

func (a *API) adjustPoints(ctx context.Context, in *adjustPointsInput) (*pointsOutput, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body.Points == 0 {
		return nil, hub.Invalid("body.points", "must not be 0")
	}
	p := store.PointsChange{Org: org, Client: in.ID, Type: "adjust", Points: in.Body.Points, Description: in.Body.Reason}
	once, err := newIdempotencyKey("loyalty.adjust", in.IdempotencyKey, p)
	if err != nil {
		return nil, err
	}
	p.Source = fmt.Sprintf("adjust:%s", store.NewID())
	if err := a.store.AdjustPoints(ctx, p, once); err != nil {
		return nil, err
	}
	return a.getClientPoints(ctx, &clientListInput{ByID: in.ByID, Paging: Paging{Page: 1, PerPage: 20}})
}
