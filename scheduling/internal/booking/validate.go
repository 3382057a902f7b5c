package booking

import (
	"fmt"
	"regexp"
	"strings"

	"integrationhub/hub"
)

// fieldErrors collects the errors of a body's fields.
type fieldErrors []hub.FieldError

// check adds an error for a field of the body, unless ok.
func (f *fieldErrors) check(ok bool, field, message string) {
	if !ok {
		*f = append(*f, hub.FieldError{Location: "body." + field, Message: message})
	}
}

func (f *fieldErrors) checkRange(n, least, most int, field string) {
	f.check(least <= n && n <= most, field, fmt.Sprintf("must be %d to %d", least, most))
}

// checkOptionalRange lets null pass.
func (f *fieldErrors) checkOptionalRange(n *int, least, most int, field string) {
	f.checkRange(valueOr(n, least), least, most, field)
}

// err returns nil, or a [hub.Error] of kind ErrInvalid that names every field.
func (f fieldErrors) err() error {
	if len(f) == 0 {
		return nil
	}
	detail := make([]string, len(f))
	for i, fieldErr := range f {
		detail[i] = fieldErr.Location + " " + fieldErr.Message
	}
	problem := hub.Invalid(f[0].Location, f[0].Message)
	problem.Detail, problem.Fields = strings.Join(detail, "; "), f
	return problem
}

// Validate checks the rules for schedule rules. The error is a [hub.Error].
func (r Rule) Validate() error {
	var errs fieldErrors
	errs.checkRange(r.Weekday, 0, 6, "day_of_week")
	errs.check(r.Start < r.End, "end_time", "must be after start_time")
	if r.Break != nil {
		errs.check(r.Break.Start < r.Break.End, "break_end", "must be after break_start")
	}
	return errs.err()
}

// Validate checks the rules for schedule exceptions. The error is a [hub.Error].
func (e Exception) Validate() error {
	var errs fieldErrors
	errs.check(e.Kind == Block || e.Kind == Extra, "exception_type", "must be block or extra")
	if e.Hours != nil {
		errs.check(e.Hours.Start < e.Hours.End, "end_time", "must be after start_time")
	}
	return errs.err()
}

// ParsePair parses two times of day that must be given together or not at all, such
// as breaks and the hours of exceptions. It returns nil if both are nil. The fields
// name them in the error, which is a [hub.Error].
func ParsePair(start, end *string, startField, endField string) (*Hours, error) {
	var errs fieldErrors
	errs.check(start != nil || end == nil, startField, "is needed with "+endField)
	errs.check(end != nil || start == nil, endField, "is needed with "+startField)
	if len(errs) > 0 || start == nil {
		return nil, errs.err()
	}
	from, err := ParseTimeOfDay(*start)
	errs.check(err == nil, startField, "must be HH:MM, 00:00 to 23:59")
	to, err := ParseTimeOfDay(*end)
	errs.check(err == nil, endField, "must be HH:MM, 00:00 to 23:59")
	if len(errs) > 0 {
		return nil, errs.err()
	}
	return &Hours{from, to}, nil
}

// The lengths of services, in minutes.
const (
	minDuration = 5
	maxDuration = 1440
)

// Validate checks the rules for services. The error is a [hub.Error].
func (s Service) Validate() error {
	var errs fieldErrors
	errs.checkRange(s.DurationMinutes, minDuration, maxDuration, "duration_minutes")
	errs.check(0 <= s.Price && s.Price <= MaxPrice, "price", "must be 0 to "+MaxPrice.String())
	errs.checkRange(s.Capacity, 1, 100, "capacity")
	errs.checkOptionalRange(s.SlotIntervalMinutes, minInterval, maxInterval, "slot_interval_minutes")
	errs.checkOptionalRange(s.BufferBeforeMinutes, 0, maxBufferMinutes, "buffer_before_minutes")
	errs.checkOptionalRange(s.BufferAfterMinutes, 0, maxBufferMinutes, "buffer_after_minutes")
	if s.RequiresDeposit {
		errs.check(0 < s.DepositAmount && s.DepositAmount <= s.Price, "deposit_amount", "must be above 0 and at most the price")
	}
	return errs.err()
}

// Validate checks the rules for a professional's overrides of one service; path is
// its place in the body, e.g. overrides.<id>. The error is a [hub.Error].
func (o Override) Validate(path string) error {
	var errs fieldErrors
	errs.check(o.DurationMinutes == nil || minDuration <= *o.DurationMinutes && *o.DurationMinutes <= maxDuration,
		path+".custom_duration", fmt.Sprintf("must be %d to %d", minDuration, maxDuration))
	errs.check(o.Price == nil || 0 <= *o.Price && *o.Price <= MaxPrice, path+".custom_price", "must be 0 to "+MaxPrice.String())
	return errs.err()
}

// The limits of slot intervals, in minutes.
const (
	minInterval = 5
	maxInterval = 240
)

// Validate checks the limits of the settings. The error is a [hub.Error].
func (p Policy) Validate() error {
	const month = 43200 // minutes
	var errs fieldErrors
	errs.checkOptionalRange(p.SlotIntervalMinutes, minInterval, maxInterval, "slot_interval_minutes")
	errs.checkRange(p.MinNoticeMinutes, 0, month, "min_notice_minutes")
	errs.checkOptionalRange(p.MaxAdvanceDays, 1, 730, "max_advance_days")
	errs.checkRange(p.CancelNoticeMinutes, 0, month, "cancel_notice_minutes")
	errs.checkRange(p.RescheduleNoticeMinutes, 0, month, "reschedule_notice_minutes")
	errs.checkRange(p.BufferBeforeMinutes, 0, maxBufferMinutes, "buffer_before_minutes")
	errs.checkRange(p.BufferAfterMinutes, 0, maxBufferMinutes, "buffer_after_minutes")
	errs.checkOptionalRange(p.MaxBookingsPerDay, 1, 200, "max_bookings_per_day")
	errs.checkRange(p.DepositHoldMinutes, 5, 1440, "deposit_hold_minutes")
	errs.checkOptionalRange(p.DepositRefundNoticeMinutes, 0, month, "deposit_refund_notice_minutes")
	return errs.err()
}

// Validate checks the rules for the loyalty program. The error is a [hub.Error].
func (l *Loyalty) Validate() error {
	var errs fieldErrors
	errs.check(l.Accrual == Spend || l.Accrual == Visit, "accrual_type", "must be spend or visit")
	errs.check(l.Rounding.Valid(), "rounding", "must be floor, round or ceil")
	errs.check(0 <= l.PointsPerUnit && l.PointsPerUnit <= maxPoints*100, "points_per_currency_unit", fmt.Sprintf("must be 0 to %d", maxPoints))
	errs.check(0 <= l.PointsPerVisit && l.PointsPerVisit <= maxPoints, "points_per_visit", fmt.Sprintf("must be 0 to %d", maxPoints))
	errs.check(0 <= l.SignupBonus && l.SignupBonus <= maxPoints, "signup_bonus", fmt.Sprintf("must be 0 to %d", maxPoints))
	errs.check(0 <= l.BirthdayBonus && l.BirthdayBonus <= maxPoints, "birthday_bonus", fmt.Sprintf("must be 0 to %d", maxPoints))
	errs.check(0 <= l.MinSpend && l.MinSpend <= MaxPrice, "min_spend", "must be 0 to "+MaxPrice.String())
	errs.check(l.ExpirationDays == nil || *l.ExpirationDays >= 1 && *l.ExpirationDays <= maxExpiration, "points_expiration_days", fmt.Sprintf("must be 1 to %d", maxExpiration))
	errs.check(len(l.Rewards) <= maxRewards, "rewards", fmt.Sprintf("must be at most %d", maxRewards))
	for i := range l.Rewards {
		l.Rewards[i].check(&errs, fmt.Sprintf("rewards[%d].", i))
	}
	return errs.err()
}

// Bounds of the loyalty program, so wide that only mistakes exceed them.
const (
	maxRewards    = 20
	maxPoints     = 1_000_000
	maxExpiration = 3650 // days
)

func (r *Reward) check(errs *fieldErrors, path string) {
	errs.check(strings.TrimSpace(r.Name) != "", path+"name", "must not be empty")
	errs.check(0 < r.Points && r.Points <= maxPoints, path+"points", fmt.Sprintf("must be 1 to %d", maxPoints))
	switch r.Type {
	case FixedDiscount:
		errs.check(0 < r.Value && r.Value <= MaxPrice, path+"value", "must be above 0 and at most "+MaxPrice.String())
	case PercentDiscount:
		errs.check(0 < r.Value && r.Value <= 100*100, path+"value", "must be above 0 and at most 100")
	case FreeService:
	default:
		errs.check(false, path+"type", "must be fixed_discount, percent_discount or free_service")
	}
}

// slugPattern is how an organization's slug is written.
var slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ValidSlug reports whether an organization may use a slug: its form, 3 to 63
// characters, and no reserved word.
func ValidSlug(slug string) bool {
	switch slug {
	case "api", "book", "admin", "www", "public", "health", "docs":
		return false
	}
	return len(slug) >= 3 && len(slug) <= 63 && slugPattern.MatchString(slug)
}
