package store

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// LoyaltyProgram is a row of scheduling.loyalty_programs.
type LoyaltyProgram = dbgen.LoyaltyProgram

// LoyaltyReward is a row of scheduling.loyalty_rewards.
type LoyaltyReward = dbgen.LoyaltyReward

// LoyaltyEntry is a change of a client's points.
type LoyaltyEntry = dbgen.ListLoyaltyEntriesRow

// LoadLoyalty loads a loyalty program as the rules read it.
func LoadLoyalty(ctx context.Context, db DB, org uuid.UUID) (booking.Loyalty, error) {
	program, err := db.LoyaltyProgram(ctx, org)
	if err != nil {
		return booking.Loyalty{}, dberr.Wrap("loading the loyalty program", err)
	}
	rewards, err := db.ListRewards(ctx, org)
	if err != nil {
		return booking.Loyalty{}, dberr.Wrap("loading rewards", err)
	}
	return LoyaltyRules(program, rewards), nil
}

// LoyaltyRules converts a loyalty program for the rules.
func LoyaltyRules(program LoyaltyProgram, rewards []LoyaltyReward) booking.Loyalty {
	rules := booking.Loyalty{
		Enabled: program.Enabled, Accrual: booking.Accrual(program.AccrualType), PointsPerUnit: booking.Cents(program.PointsPerHundred), PointsPerVisit: program.PointsPerVisit,
		MinSpend: program.MinSpendCents, Rounding: booking.Rounding(program.Rounding), EligibleServices: program.EligibleServiceIds, ExpirationDays: program.PointsExpirationDays,
		SignupBonus: program.SignupBonus, BirthdayBonus: program.BirthdayBonus,
	}
	for _, reward := range rewards {
		rules.Rewards = append(rules.Rewards, booking.Reward{
			ID: reward.ID, Name: reward.Name, Points: reward.Points, Type: booking.RewardType(reward.Type), Value: booking.Cents(reward.Value), Service: reward.ServiceID, Active: reward.IsActive,
		})
	}
	return rules
}

// SaveLoyalty stores a changed loyalty program with its rewards. Other rewards are
// deleted.
func (t *Tx) SaveLoyalty(ctx context.Context, program LoyaltyProgram, rewards []LoyaltyReward) error {
	err := t.UpdateLoyaltyProgram(ctx, dbgen.UpdateLoyaltyProgramParams{
		OrgID: program.OrgID, Enabled: program.Enabled, ProgramName: program.ProgramName, AccrualType: program.AccrualType, PointsPerHundred: program.PointsPerHundred,
		PointsPerVisit: program.PointsPerVisit, MinSpendCents: program.MinSpendCents, Rounding: program.Rounding, SignupBonus: program.SignupBonus, BirthdayBonus: program.BirthdayBonus,
		PointsExpirationDays: program.PointsExpirationDays, EligibleServiceIds: program.EligibleServiceIds, TermOne: program.TermOne, TermOther: program.TermOther, UpdatedAt: t.now,
	})
	if err != nil {
		return err
	}
	savedIDs := make([]uuid.UUID, 0, len(rewards))
	for _, reward := range rewards {
		savedIDs = append(savedIDs, reward.ID)
		err := t.UpsertReward(ctx, dbgen.UpsertRewardParams{
			OrgID: reward.OrgID, ID: reward.ID, Name: reward.Name, Points: reward.Points, Type: reward.Type, Value: reward.Value, ServiceID: reward.ServiceID, IsActive: reward.IsActive, Position: reward.Position,
		})
		if err != nil {
			return err
		}
	}
	return t.DeleteRewardsExcept(ctx, dbgen.DeleteRewardsExceptParams{OrgID: program.OrgID, Now: t.now, Kept: savedIDs})
}

// LoadLedger loads all changes of a client's points, the oldest first.
func (d DB) LoadLedger(ctx context.Context, org, client uuid.UUID) ([]booking.PointsEntry, error) {
	rows, err := d.LoyaltyLedger(ctx, org, client)
	entries := make([]booking.PointsEntry, len(rows))
	for i, row := range rows {
		entries[i] = booking.PointsEntry{Points: row.Points, At: row.CreatedAt}
	}
	return entries, err
}

// LoyaltyEntryPage loads a page of the changes of a client's points, the newest first.
func (d DB) LoyaltyEntryPage(ctx context.Context, org, client uuid.UUID, page Page) ([]LoyaltyEntry, error) {
	return d.ListLoyaltyEntries(ctx, dbgen.ListLoyaltyEntriesParams{OrgID: org, ClientID: client, RowLimit: page.Limit, RowOffset: page.Offset})
}
