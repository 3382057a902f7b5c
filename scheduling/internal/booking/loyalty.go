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

// Loyalty is an organization's programme, as far as arithmetic goes.
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

// PaymentPoints is what a payment earns.
func (l *Loyalty) PaymentPoints(amount Cents, service uuid.UUID) int64 {
	if l.Accrual != Spend || amount <= 0 || amount < l.MinSpend || l.PointsPerUnit <= 0 || !l.isEligible(service) {
		return 0
	}
	return l.Rounding.MulDiv(int64(amount), int64(l.PointsPerUnit), 100*100)
}

// VisitPoints is what a completed appointment earns.
func (l *Loyalty) VisitPoints(price Cents, service uuid.UUID) int64 {
	if l.Accrual != Visit || price < l.MinSpend || !l.isEligible(service) {
		return 0
	}
	return max(0, l.PointsPerVisit)
}

// Reversal is how many of the points earned by a payment go back when refunded of
// its amount is given back in all; what stays is never more than the share kept.
// Points that were reversed before are the caller's to take off.
func Reversal(earned int64, amount, refunded Cents) int64 {
	if amount <= 0 || earned <= 0 {
		return 0
	}
	kept := max(0, amount-max(0, refunded))
	return earned - Floor.MulDiv(earned, int64(kept), int64(amount))
}

// RewardType is what a reward gives.
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

// Discount is what the reward takes off the price of a service: never more than
// the price, and nothing where it does not count for the service.
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

// Reward finds an active reward; nil where there is none with this id.
func (l *Loyalty) Reward(id uuid.UUID) *Reward {
	at := slices.IndexFunc(l.Rewards, func(reward Reward) bool { return reward.ID == id && reward.Active })
	if at < 0 {
		return nil
	}
	return &l.Rewards[at]
}

// NextReward is the cheapest active reward that a balance does not reach yet, and the
// points it still takes; nil and 0 where it reaches them all.
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

// LedgerEntry is one line of a client's points, in the order they were written.
type LedgerEntry struct {
	Points int64 // positive: given; negative: taken
	At     time.Time
}

// Expiry looks at a client's points: those that have run out by now and are still
// to be taken (overdue), and those that run out next, with the moment they do.
// Points are used up oldest first, whoever takes them. They last until the end of
// the day, in the organization's zone, that lies ExpirationDays after the one
// they were given on. Where points do not expire everything is zero.
func (l *Loyalty) Expiry(entries []LedgerEntry, now time.Time, loc *time.Location) (overdue, next int64, at time.Time) {
	if l.ExpirationDays == nil {
		return 0, 0, time.Time{}
	}
	var lots []LedgerEntry
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
		given := DateOf(lot.At, loc)
		day := given + Date(*l.ExpirationDays) + 1
		zone := newZone(loc, day, day)
		end := zone.time(zone.dayStart(day))
		switch {
		case !end.After(now):
			overdue += lot.Points
		case at.IsZero() || end.Before(at):
			next, at = lot.Points, end
		case end.Equal(at):
			next += lot.Points
		}
	}
	return overdue, next, at
}
