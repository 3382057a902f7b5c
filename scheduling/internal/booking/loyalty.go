package booking

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Accrual is what points are earned for.
type Accrual string

// The kinds of accrual.
const (
	Spend Accrual = "spend" // money paid
	Visit Accrual = "visit" // appointments completed
)

// Loyalty is the part of an organization's loyalty program that the rules read.
type Loyalty struct {
	Enabled          bool
	Accrual          Accrual
	PointsPerUnit    Cents // points for one unit of currency, in hundredths of a point
	PointsPerVisit   int64
	MinSpend         Cents       // less earns nothing, neither as payment nor as a visit's price
	Rounding         Rounding    // of points for money
	EligibleServices []uuid.UUID // nil: all, and money paid for no service too
	ExpirationDays   *int        // after the day they were earned; nil: points stay
	SignupBonus      int64
	BirthdayBonus    int64
	Rewards          []Reward
}

// isEligible reports whether a service earns points; uuid.Nil is no service.
func (l *Loyalty) isEligible(service uuid.UUID) bool {
	return l.Enabled && (l.EligibleServices == nil || slices.Contains(l.EligibleServices, service))
}

// PaymentPoints returns the points that a payment earns.
func (l *Loyalty) PaymentPoints(amount Cents, service uuid.UUID) int64 {
	if l.Accrual != Spend || amount <= 0 || amount < l.MinSpend || l.PointsPerUnit <= 0 || !l.isEligible(service) {
		return 0
	}
	return l.Rounding.MulDiv(int64(amount), int64(l.PointsPerUnit), 100*100)
}

// VisitPoints returns the points that a completed appointment earns.
func (l *Loyalty) VisitPoints(price Cents, service uuid.UUID) int64 {
	if l.Accrual != Visit || price < l.MinSpend || !l.isEligible(service) {
		return 0
	}
	return max(0, l.PointsPerVisit)
}

// Reversal returns how many of the points earned by a payment are reversed when
// refunded is the total refunded so far. The points that stay never exceed the share
// that was not refunded. The caller subtracts points that were reversed before.
func Reversal(earned int64, amount, refunded Cents) int64 {
	if amount <= 0 || earned <= 0 {
		return 0
	}
	remaining := max(0, amount-max(0, refunded))
	return earned - Floor.MulDiv(earned, int64(remaining), int64(amount))
}

// RewardType is the kind of a reward's discount.
type RewardType string

// The types of rewards.
const (
	FixedDiscount   RewardType = "fixed_discount"
	PercentDiscount RewardType = "percent_discount"
	FreeService     RewardType = "free_service"
)

// Reward is something points can be exchanged for.
type Reward struct {
	ID      uuid.UUID
	Name    string
	Points  int64 // its cost, above 0
	Type    RewardType
	Value   Cents      // money, or for a percent discount hundredths of a percent
	Service *uuid.UUID // the only service it counts for; nil: any
	Active  bool
}

// Discount returns the reward's reduction of a service's price: never more than the
// price, and 0 where the reward is for another service.
func (r *Reward) Discount(price Cents, service uuid.UUID) Cents {
	if r.Service != nil && *r.Service != service {
		return 0
	}
	switch r.Type {
	case FixedDiscount:
		return max(0, min(r.Value, price))
	case PercentDiscount:
		return max(0, min(price.Share(int64(r.Value), 100*100), price))
	case FreeService:
		return price
	default:
		return 0
	}
}

// Reward returns the active reward with an id, or nil.
func (l *Loyalty) Reward(id uuid.UUID) *Reward {
	i := slices.IndexFunc(l.Rewards, func(reward Reward) bool { return reward.ID == id && reward.Active })
	if i < 0 {
		return nil
	}
	return &l.Rewards[i]
}

// NextReward returns the cheapest active reward that a balance does not reach yet, and
// the missing points; nil and 0 where the balance reaches all.
func (l *Loyalty) NextReward(balance int64) (next *Reward, missing int64) {
	for i := range l.Rewards {
		reward := &l.Rewards[i]
		if reward.Active && reward.Points > balance && (next == nil || reward.Points < next.Points) {
			next = reward
		}
	}
	if next == nil {
		return nil, 0
	}
	return next, next.Points - balance
}

// PointsEntry is one line of a client's points, in the order they were written.
type PointsEntry struct {
	Points int64 // positive: granted; negative: used, expired or reversed
	At     time.Time
}

// Expiry returns the points that have expired but are not deducted yet (overdue),
// and the points that expire next, with their expiry. The oldest points are used
// first. Points last until the end of the day, in the organization's zone, that
// lies ExpirationDays after the day they were granted. If points do not expire,
// all results are zero.
func (l *Loyalty) Expiry(entries []PointsEntry, now time.Time, loc *time.Location) (overdue, next int64, nextAt time.Time) {
	if l.ExpirationDays == nil {
		return 0, 0, time.Time{}
	}
	var lots []PointsEntry
	for _, entry := range entries {
		if entry.Points > 0 {
			lots = append(lots, entry)
			continue
		}
		for take := -entry.Points; take > 0 && len(lots) > 0; {
			used := min(take, lots[0].Points)
			take -= used
			if lots[0].Points -= used; lots[0].Points == 0 {
				lots = lots[1:]
			}
		}
	}
	for _, lot := range lots {
		granted := DateOf(lot.At, loc)
		day := granted + Date(*l.ExpirationDays) + 1
		zone := newZone(loc, day, day)
		end := zone.time(zone.dayStart(day))
		switch {
		case !end.After(now):
			overdue += lot.Points
		case nextAt.IsZero() || end.Before(nextAt):
			next, nextAt = lot.Points, end
		case end.Equal(nextAt):
			next += lot.Points
		}
	}
	return overdue, next, nextAt
}
