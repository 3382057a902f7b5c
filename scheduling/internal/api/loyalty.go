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
)

// LoyaltyConfig is an organization's loyalty program.
type LoyaltyConfig struct {
	Enabled               bool          `json:"enabled" doc:"Whether clients collect points"`
	ProgramName           string        `json:"program_name" doc:"How clients know it"`
	AccrualType           string        `json:"accrual_type" enum:"spend,visit" doc:"Points for money spent, or for each visit"`
	PointsPerCurrencyUnit booking.Cents `json:"points_per_currency_unit" doc:"Where accrual_type is spend: points for 1.00"`
	PointsPerVisit        int64         `json:"points_per_visit" doc:"Where accrual_type is visit"`
	MinSpend              booking.Cents `json:"min_spend" doc:"Payments below it earn nothing"`
	Rounding              string        `json:"rounding" enum:"floor,round,ceil" doc:"What becomes of fractions of points"`
	SignupBonus           int64         `json:"signup_bonus" doc:"Points for becoming a client"`
	BirthdayBonus         int64         `json:"birthday_bonus" doc:"Points on the client's birthday"`
	PointsExpirationDays  *int          `json:"points_expiration_days" doc:"How long points are kept; null: for good"`
	EligibleServiceIDs    []uuid.UUID   `json:"eligible_service_ids" nullable:"true" doc:"null: all"`
	Rewards               []Reward      `json:"rewards" nullable:"false" doc:"What points are exchanged for"`
	Terminology           Terminology   `json:"terminology" doc:"What a point is called"`
	UpdatedAt             time.Time     `json:"updated_at" doc:"When it was last changed"`
}

// Terminology names the points of a program, in singular and plural.
type Terminology struct {
	Singular string `json:"one" maxLength:"40" doc:"Word for a single point"`
	Plural   string `json:"other" maxLength:"40" doc:"Word for several points"`
}

// Reward is what a client exchanges points for.
type Reward struct {
	ID        uuid.UUID          `json:"id" doc:"Names the reward"`
	Name      string             `json:"name" doc:"How clients see it"`
	Points    int64              `json:"points" doc:"What it costs"`
	Type      booking.RewardType `json:"type" enum:"fixed_discount,percent_discount,free_service" doc:"An amount off, a percentage off, or a service for nothing"`
	Value     booking.Cents      `json:"value" doc:"Amount, or percentage; 0 for a free service"`
	ServiceID *uuid.UUID         `json:"service_id" doc:"The only service it counts for; null: any"`
	IsActive  bool               `json:"is_active" doc:"Whether it is in use"`
}

type configureLoyaltyInput struct {
	Body struct {
		Enabled               optional[bool]           `json:"enabled,omitempty" doc:"Whether clients collect points"`
		ProgramName           optional[string]         `json:"program_name,omitempty" maxLength:"120" doc:"How clients know it"`
		AccrualType           optional[string]         `json:"accrual_type,omitempty" enum:"spend,visit" doc:"Points for money spent, or for each visit"`
		PointsPerCurrencyUnit optional[booking.Cents]  `json:"points_per_currency_unit,omitempty" minimum:"0" maximum:"1000000" doc:"Where accrual_type is spend: points for 1.00"`
		PointsPerVisit        optional[int64]          `json:"points_per_visit,omitempty" minimum:"0" maximum:"1000000" doc:"Where accrual_type is visit"`
		MinSpend              optional[booking.Cents]  `json:"min_spend,omitempty" minimum:"0" maximum:"99999999.99" doc:"Payments below it earn nothing"`
		Rounding              optional[string]         `json:"rounding,omitempty" enum:"floor,round,ceil" doc:"What becomes of fractions of points"`
		SignupBonus           optional[int64]          `json:"signup_bonus,omitempty" minimum:"0" maximum:"1000000" doc:"Points for becoming a client"`
		BirthdayBonus         optional[int64]          `json:"birthday_bonus,omitempty" minimum:"0" maximum:"1000000" doc:"Points on the client's birthday"`
		PointsExpirationDays  nullable[int]            `json:"points_expiration_days,omitempty" minimum:"1" maximum:"3650" doc:"null: never"`
		EligibleServiceIDs    nullable[[]uuid.UUID]    `json:"eligible_service_ids,omitempty" maxItems:"1000" doc:"null: all"`
		Rewards               optional[[]rewardFields] `json:"rewards,omitempty" maxItems:"20" doc:"All of them: those without an id are new, those not named end"`
		Terminology           *Terminology             `json:"terminology,omitempty" doc:"What a point is called"`
	} `nameHint:"LoyaltyFields"`
}

type rewardFields struct {
	ID        optional[uuid.UUID]     `json:"id,omitempty" doc:"A reward that is there; absent: a new one"`
	Name      string                  `json:"name" maxLength:"120" minLength:"1" doc:"How clients see it"`
	Points    int64                   `json:"points" minimum:"1" maximum:"1000000" doc:"What it costs"`
	Type      booking.RewardType      `json:"type" enum:"fixed_discount,percent_discount,free_service" doc:"An amount off, a percentage off, or a service for nothing"`
	Value     optional[booking.Cents] `json:"value,omitempty" minimum:"0" maximum:"99999999.99" doc:"Amount, or percentage up to 100; needless for a free service"`
	ServiceID nullable[uuid.UUID]     `json:"service_id,omitempty" doc:"null or absent: none"`
	IsActive  optional[bool]          `json:"is_active,omitempty" doc:"Whether it is in use"`
}

type loyaltyOutput struct{ Body LoyaltyConfig }

func toReward(row store.LoyaltyReward) Reward {
	return Reward{row.ID, row.Name, row.Points, booking.RewardType(row.Type), booking.Cents(row.Value), row.ServiceID, row.IsActive}
}

func (a *API) getLoyaltyConfig(ctx context.Context, _ *struct{}) (*loyaltyOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	program, err := a.store.LoyaltyProgram(ctx, org.ID)
	if err != nil {
		return nil, err
	}
	rewards, err := a.store.ListRewards(ctx, org.ID)
	return &loyaltyOutput{LoyaltyConfig{
		Enabled: program.Enabled, ProgramName: program.ProgramName, AccrualType: program.AccrualType, PointsPerCurrencyUnit: booking.Cents(program.PointsPerHundred),
		PointsPerVisit: program.PointsPerVisit, MinSpend: program.MinSpendCents, Rounding: program.Rounding, SignupBonus: program.SignupBonus, BirthdayBonus: program.BirthdayBonus,
		PointsExpirationDays: program.PointsExpirationDays, EligibleServiceIDs: program.EligibleServiceIds, Rewards: rest.Map(rewards, toReward),
		Terminology: Terminology{program.TermOne, program.TermOther}, UpdatedAt: program.UpdatedAt.In(org.Zone),
	}}, err
}

// applyTo applies the fields to a program, without its rewards.
func (in *configureLoyaltyInput) applyTo(program *store.LoyaltyProgram) {
	body := &in.Body
	body.Enabled.ApplyTo(&program.Enabled)
	body.ProgramName.ApplyTo(&program.ProgramName)
	body.AccrualType.ApplyTo(&program.AccrualType)
	perHundred := booking.Cents(program.PointsPerHundred)
	body.PointsPerCurrencyUnit.ApplyTo(&perHundred)
	program.PointsPerHundred = int64(perHundred)
	body.PointsPerVisit.ApplyTo(&program.PointsPerVisit)
	body.MinSpend.ApplyTo(&program.MinSpendCents)
	body.Rounding.ApplyTo(&program.Rounding)
	body.SignupBonus.ApplyTo(&program.SignupBonus)
	body.BirthdayBonus.ApplyTo(&program.BirthdayBonus)
	body.PointsExpirationDays.ApplyTo(&program.PointsExpirationDays)
	if body.EligibleServiceIDs.Set {
		program.EligibleServiceIds = body.EligibleServiceIDs.Value
	}
	if body.Terminology != nil {
		program.TermOne, program.TermOther = body.Terminology.Singular, body.Terminology.Plural
	}
}

// mergeRewards returns the program's future rewards. Each stored reward may be named once.
func (in *configureLoyaltyInput) mergeRewards(org uuid.UUID, stored []store.LoyaltyReward) (list []store.LoyaltyReward, err error) {
	if !in.Body.Rewards.HasValue() {
		return stored, nil
	}
	storedIDs := make(map[uuid.UUID]bool, len(stored))
	for _, reward := range stored {
		storedIDs[reward.ID] = true
	}
	for i, fields := range in.Body.Rewards.Value {
		reward := store.LoyaltyReward{OrgID: org, ID: store.NewID(), Name: fields.Name, Points: fields.Points, Type: string(fields.Type), Value: int64(fields.Value.Value), IsActive: true, Position: i}
		if fields.ID.HasValue() {
			if reward.ID = fields.ID.Value; !storedIDs[reward.ID] {
				return nil, hub.NotFound("Reward")
			}
			delete(storedIDs, reward.ID) // named once only
		}
		fields.ServiceID.ApplyTo(&reward.ServiceID)
		fields.IsActive.ApplyTo(&reward.IsActive)
		list = append(list, reward)
	}
	return list, nil
}

// validate checks names, which stand in e-mails and on pages, and that the amounts are payable
// in the currency.
func (in *configureLoyaltyInput) validate(currency string) error {
	var errs fieldErrors
	errs.CheckOneLine(in.Body.ProgramName.Value, "body.program_name")
	if in.Body.Terminology != nil {
		errs.CheckOneLine(in.Body.Terminology.Singular, "body.terminology.one")
		errs.CheckOneLine(in.Body.Terminology.Plural, "body.terminology.other")
	}
	errs.checkAmount(in.Body.MinSpend.Pointer(), currency, "body.min_spend")
	for i, reward := range in.Body.Rewards.Value {
		errs.CheckName(reward.Name, fmt.Sprintf("body.rewards[%d].name", i), maxName)
		if reward.Type == booking.FixedDiscount {
			errs.checkAmount(reward.Value.Pointer(), currency, fmt.Sprintf("body.rewards[%d].value", i))
		}
	}
	return errs.Err()
}

func (a *API) configureLoyalty(ctx context.Context, in *configureLoyaltyInput) (*loyaltyOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.validate(org.Currency); err != nil {
		return nil, err
	}
	id := org.ID
	err = a.store.InTx(ctx, "updating the loyalty program", func(tx *store.Tx) error {
		program, err := tx.LockLoyaltyProgram(ctx, id)
		if err != nil {
			return err
		}
		stored, err := tx.ListRewards(ctx, id)
		if err != nil {
			return err
		}
		in.applyTo(&program)
		rewards, err := in.mergeRewards(id, stored)
		if err != nil {
			return err
		}
		rules := store.LoyaltyRules(program, rewards)
		if err := rules.Validate(); err != nil {
			return err
		}
		if len([]rune(program.ProgramName)) > 120 {
			return hub.Invalid("body.program_name", "is too long")
		}
		if err := requireServices(ctx, tx, id, program.EligibleServiceIds, rewards); err != nil {
			return err
		}
		return tx.SaveLoyalty(ctx, program, rewards)
	})
	if err != nil {
		return nil, err
	}
	return a.getLoyaltyConfig(ctx, nil)
}

// requireServices returns a 404 error if the program names a service of another
// organization.
func requireServices(ctx context.Context, tx *store.Tx, org uuid.UUID, ids []uuid.UUID, rewards []store.LoyaltyReward) error {
	services := make(map[uuid.UUID]bool)
	for _, id := range ids {
		services[id] = true
	}
	for _, reward := range rewards {
		if reward.ServiceID != nil {
			services[*reward.ServiceID] = true
		}
	}
	list := make([]uuid.UUID, 0, len(services))
	for id := range services {
		list = append(list, id)
	}
	found, err := tx.CountServices(ctx, org, list)
	if err == nil && found != len(list) {
		return hub.NotFound("Service")
	}
	return err
}

// ClientPoints is a client's balance with its history.
type ClientPoints struct {
	ClientID           uuid.UUID         `json:"client_id" doc:"Whose points"`
	ClientName         string            `json:"client_name" doc:"How the client is called"`
	Balance            int64             `json:"balance" doc:"Points that can be spent"`
	LifetimeEarned     int64             `json:"lifetime_earned" doc:"All points that were ever given"`
	LifetimeRedeemed   int64             `json:"lifetime_redeemed" doc:"All points that were ever spent"`
	NextReward         *Reward           `json:"next_reward" doc:"Cheapest one that is not affordable yet; null: none"`
	PointsToNextReward *int64            `json:"points_to_next_reward" doc:"How many are missing for it; null: nothing to wait for"`
	ExpiringPoints     int64             `json:"expiring_points" doc:"How many are lost next"`
	ExpiringAt         *time.Time        `json:"expiring_at" doc:"When those are lost; null: none will be"`
	History            Page[PointsEntry] `json:"history" doc:"Changes, the latest first"`
}

// PointsEntry is a change of a client's points.
type PointsEntry struct {
	ID            uuid.UUID  `json:"id" doc:"Names the entry"`
	Type          string     `json:"type" enum:"earn,redeem,adjust,expire,reverse,bonus" doc:"Why points came or went"`
	Points        int64      `json:"points" doc:"How many; below 0: taken away"`
	BalanceAfter  int64      `json:"balance_after" doc:"What the client had then"`
	AppointmentID *uuid.UUID `json:"appointment_id" doc:"Appointment it belongs to; null: none"`
	PaymentID     *uuid.UUID `json:"payment_id" doc:"Payment that earned them; null: none"`
	RewardID      *uuid.UUID `json:"reward_id" doc:"Reward they were exchanged for; null: none"`
	Description   string     `json:"description" doc:"Text that people see"`
	CreatedAt     time.Time  `json:"created_at" doc:"When it was stored"`
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
	program, err := store.LoadLoyalty(ctx, a.store.DB, org.ID)
	if err != nil {
		return nil, err
	}
	lifetime, err := a.store.LifetimePoints(ctx, org.ID, in.ID)
	if err != nil {
		return nil, err
	}
	ledger, err := a.store.LoadLedger(ctx, org.ID, in.ID)
	if err != nil {
		return nil, err
	}
	entries, err := a.store.LoyaltyEntryPage(ctx, org.ID, in.ID, toPage(in.Paging))
	if err != nil {
		return nil, err
	}
	points := ClientPoints{
		ClientID: client.ID, ClientName: client.Name, Balance: client.LoyaltyPoints, LifetimeEarned: lifetime.Earned, LifetimeRedeemed: lifetime.Redeemed,
	}
	if next, missing := program.NextReward(client.LoyaltyPoints); next != nil {
		points.NextReward = &Reward{next.ID, next.Name, next.Points, next.Type, next.Value, next.Service, next.Active}
		points.PointsToNextReward = &missing
	}
	_, expiring, expiresAt := program.Expiry(ledger, a.host.Now(), org.Zone)
	points.ExpiringPoints, points.ExpiringAt = expiring, inZone(&expiresAt, org.Zone)
	points.History = rest.NewPage(rest.Map(entries, func(entry store.LoyaltyEntry) PointsEntry {
		return PointsEntry{entry.ID, entry.Type, entry.Points, entry.BalanceAfter, entry.AppointmentID, entry.PaymentID, entry.RewardID, entry.Description, entry.CreatedAt.In(org.Zone)}
	}), len(ledger), in.Paging)
	return &pointsOutput{points}, nil
}

type redeemRewardInput struct {
	ByID
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"255" doc:"The same request with the same key takes points once, for 24 hours"`
	Body           struct {
		RewardID      uuid.UUID           `json:"reward_id" doc:"What the points are exchanged for"`
		AppointmentID optional[uuid.UUID] `json:"appointment_id,omitempty" doc:"The reward's discount is taken off its price, once"`
	} `nameHint:"Redeem"`
}

func (a *API) redeemReward(ctx context.Context, in *redeemRewardInput) (*pointsOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	redemption := store.Redemption{Client: in.ID, Reward: in.Body.RewardID}
	redemption.Appointment = in.Body.AppointmentID.Pointer()
	idempotency, err := newIdempotencyKey("loyalty.redeem", in.IdempotencyKey, redemption)
	if err != nil {
		return nil, err
	}
	if err := a.store.RedeemReward(ctx, org, redemption, idempotency); err != nil {
		return nil, err
	}
	return a.getClientPoints(ctx, &clientListInput{ByID: in.ByID, Paging: Paging{Page: 1, PerPage: 20}})
}

type adjustPointsInput struct {
	ByID
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"255" doc:"The same request with the same key counts once, for 24 hours"`
	Body           struct {
		Points int64  `json:"points" minimum:"-1000000" maximum:"1000000" doc:"How many to add; below 0: to take away; not 0"`
		Reason string `json:"reason" minLength:"1" maxLength:"200" doc:"Why, for the history"`
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
	change := store.PointsChange{Org: org, Client: in.ID, Type: "adjust", Points: in.Body.Points, Description: in.Body.Reason}
	idempotency, err := newIdempotencyKey("loyalty.adjust", in.IdempotencyKey, change)
	if err != nil {
		return nil, err
	}
	change.Source = fmt.Sprintf("adjust:%s", store.NewID())
	if err := a.store.AdjustPoints(ctx, change, idempotency); err != nil {
		return nil, err
	}
	return a.getClientPoints(ctx, &clientListInput{ByID: in.ByID, Paging: Paging{Page: 1, PerPage: 20}})
}
