package booking

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Of an amount with an exponent, at most 18 digits of cents are taken.
func TestParseCentsBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Cents{
		"1e15": 100_000_000_000_000_000, "9999999999999999.99": 999_999_999_999_999_999, "-9999999999999999.99": -999_999_999_999_999_999,
		"1E2": 100_00, "1e-2": 1, "100e-4": 1, "0.01": 1, "1e0": 1_00, "0e40": 0, "0.00e41": 0, "1" + strings.Repeat("0", 40) + "e-42": 1, "0." + strings.Repeat("0", 50) + "1e52": 10_00,
	} {
		got, err := parseCents(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]error{
		"1e16": ErrAmountTooLarge, "12345678901234567.89": ErrAmountTooLarge, "1e40": ErrAmountTooLarge, "1e41": ErrAmountTooLarge, "1e-40": ErrTooManyDecimals, "1e-41": ErrTooManyDecimals,
	} {
		_, err := parseCents(text)
		require.ErrorIs(t, err, want, text)
	}
}

func TestSharesOfNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, Cents(0), Cents(0).Share(1, 2))
	require.Equal(t, Cents(1), Cents(1).Share(1, 2))
	require.Equal(t, Cents(-33), Cents(-100).Share(1, 3))
	require.Equal(t, int64(math.MaxInt64), Floor.MulDiv(math.MaxInt64/2+1, 2, 7), "the first product beyond 64 bits")
	require.Equal(t, int64(math.MaxInt64-1), Floor.MulDiv(math.MaxInt64/2, 2, 1))
}

// Currencies without decimals lose the hundredths, towards zero; others keep them.
func TestAmountsWithoutDecimals(t *testing.T) {
	t.Parallel()
	for amount, want := range map[Cents]Cents{10_50: 10_00, 10_00: 10_00, 99: 0, -10_50: -10_00, 0: 0} {
		require.Equal(t, want, amount.Whole("JPY"))
		require.Equal(t, amount, amount.Whole("BRL"))
		require.Equal(t, amount, amount.Whole("KWD"))
	}
}

func TestRewardsByID(t *testing.T) {
	t.Parallel()
	first, second, off := named("first"), named("second"), named("off")
	program := Loyalty{Rewards: []Reward{{ID: first, Points: 100, Active: true}, {ID: second, Points: 100, Active: true}, {ID: off, Points: 50}}}
	for _, id := range []uuid.UUID{first, second} {
		require.NotNil(t, program.Reward(id))
		require.Equal(t, id, program.Reward(id).ID)
	}
	require.Nil(t, program.Reward(off), "it is switched off")
	require.Nil(t, program.Reward(uuid.Nil))
	next, missing := program.NextReward(99)
	require.Equal(t, first, next.ID, "of equal rewards the first")
	require.Equal(t, int64(1), missing)
}

// A grant of nothing expires at no time, and what is taken beyond all grants is no debt.
func TestPointsExpireBounds(t *testing.T) {
	t.Parallel()
	days := 30
	program := Loyalty{ExpirationDays: &days}
	at := func(day int) time.Time { return time.Date(2026, 1, day, 15, 0, 0, 0, time.UTC) }
	overdue, next, when := program.Expiry([]PointsEntry{{0, at(1)}, {10, at(5)}}, at(20), time.UTC)
	require.Zero(t, overdue)
	require.Equal(t, int64(10), next)
	require.Equal(t, time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC), when)
	_, next, _ = program.Expiry([]PointsEntry{{10, at(1)}, {-20, at(2)}, {5, at(3)}}, at(20), time.UTC)
	require.Equal(t, int64(5), next)
	_, next, when = program.Expiry([]PointsEntry{{10, at(9)}, {7, at(3)}, {5, at(6)}}, at(20), time.UTC)
	require.Equal(t, int64(7), next, "the earliest, whatever the order")
	require.Equal(t, time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), when)
}

func TestPointsAtTheirBounds(t *testing.T) {
	t.Parallel()
	cut := named("cut")
	program := Loyalty{Enabled: true, Accrual: Spend, PointsPerUnit: 100, Rounding: Ceil}
	require.Zero(t, program.PaymentPoints(0, cut))
	require.Equal(t, int64(1), program.PaymentPoints(1, cut))
	program.PointsPerUnit = -100
	require.Zero(t, program.PaymentPoints(10_00, cut))
	require.Equal(t, int64(1), Reversal(1, 1_00, 1_00))
	require.Equal(t, int64(1), Reversal(1, 1, 1))
	require.Zero(t, Reversal(-5, 1_00, 1_00))
	require.Zero(t, Reversal(5, -1_00, 1_00))
	require.Zero(t, Reversal(5, 1_00, -1_00), "nothing was refunded")
}

func TestFirstAndLastMonths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0001-01": "0001-01-01 0001-01-31", "9999-12": "9999-12-01 9999-12-31", "2026-04": "2026-04-01 2026-04-30"} {
		first, last, err := ParseMonth(text)
		require.NoError(t, err, text)
		require.Equal(t, want, first.String()+" "+last.String())
	}
	for _, text := range []string{"/0:00", ":0:00", "0/:00", "0::00", "00:/0", "00::0", "00:0/", "00:0:"} {
		_, err := ParseTimeOfDay(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "1969-12-31", NewDate(1970, time.January, 0).String())
	for seconds, want := range map[int64]int64{-1: -1, 0: 0, secondsPerDay - 1: 0, secondsPerDay: 1, -secondsPerDay: -1, -secondsPerDay - 1: -2} {
		require.Equal(t, want, floorDiv(seconds, secondsPerDay), seconds)
	}
}

// Digits of 8 to 15 are tried unchanged, even of a text that is no phone number.
func TestPhoneFormBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"tel. 1234567": false, "tel. 12345678": true, "tel. 123456789012345": true, "tel. 1234567890123456": false,
	} {
		require.Equal(t, want, len(PhoneForms(text)) > 0, text)
		require.Equal(t, want, isValidPhone(text), text)
	}
	const longest = 40
	phone := "11 98765-4321" + strings.Repeat(" ", longest-len("11 98765-4321"))
	require.True(t, isValidPhone(phone))
	require.False(t, isValidPhone(phone+" "))
}

func TestValidEmail(t *testing.T) {
	t.Parallel()
	const longest, domain = 254, "@example.com"
	for text, want := range map[string]bool{
		"ana@example.com": true, "ana.souza+x@mail.example.com": true, strings.Repeat("a", longest-len(domain)) + domain: true, strings.Repeat("a", longest-len(domain)+1) + domain: false,
		"": false, "ana": false, "ana@": false, "@example.com": false, "ana@localhost": false, "ana@localhost.": false, "Ana <ana@example.com>": false, "<ana@example.com>": false, "ana@example.com, b@example.com": false, " ana@example.com": false,
	} {
		require.Equal(t, want, ValidEmail(text), text)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	valid := Request{Name: "Ana", Phone: "11 98765-4321", Email: "ana@example.com"}
	professional := named("Ana")
	for name, request := range map[string]struct {
		change   func(*Request)
		required RequiredFields
		fields   []string
	}{
		"all is there":             {func(r *Request) { r.Professional = &professional }, RequiredFields{true, true, true, true, ""}, nil},
		"spaces are trimmed":       {func(r *Request) { r.Name, r.Phone, r.Email = " Ana ", " 11 98765-4321 ", " ana@example.com " }, RequiredFields{Phone: true, Email: true}, nil},
		"the shortest name":        {func(r *Request) { r.Name = "Zé" }, RequiredFields{}, nil},
		"a shorter name":           {func(r *Request) { r.Name = "é" }, RequiredFields{}, []string{"client_name"}},
		"the longest name":         {func(r *Request) { r.Name = strings.Repeat("é", 120) }, RequiredFields{}, nil},
		"a longer name":            {func(r *Request) { r.Name = strings.Repeat("e", 121) }, RequiredFields{}, []string{"client_name"}},
		"a name of two lines":      {func(r *Request) { r.Name = "Joe\r\nBcc: x" }, RequiredFields{}, []string{"client_name"}},
		"a name that rings":        {func(r *Request) { r.Name = "Ana\x07" }, RequiredFields{}, []string{"client_name"}},
		"an invisible name":        {func(r *Request) { r.Name = "\u200b\u200b" }, RequiredFields{}, []string{"client_name"}},
		"the longest notes":        {func(r *Request) { r.Notes = strings.Repeat("é", 500) }, RequiredFields{}, nil},
		"longer notes":             {func(r *Request) { r.Notes = strings.Repeat("e", 501) }, RequiredFields{}, []string{"notes"}},
		"no contact, none needed":  {func(r *Request) { r.Phone, r.Email = "", "" }, RequiredFields{}, nil},
		"no contact, one needed":   {func(r *Request) { r.Phone, r.Email = "", "" }, RequiredFields{PhoneOrEmail: true}, []string{"client_phone"}},
		"an address is a contact":  {func(r *Request) { r.Phone = "" }, RequiredFields{PhoneOrEmail: true}, nil},
		"a number is a contact":    {func(r *Request) { r.Email = "" }, RequiredFields{PhoneOrEmail: true}, nil},
		"an address for a number":  {func(r *Request) { r.Phone = "" }, RequiredFields{Phone: true}, []string{"client_phone"}},
		"a number for an address":  {func(r *Request) { r.Email = "" }, RequiredFields{Email: true}, []string{"client_email"}},
		"no phone number":          {func(r *Request) { r.Phone = "123" }, RequiredFields{}, []string{"client_phone"}},
		"no e-mail address":        {func(r *Request) { r.Email = "ana" }, RequiredFields{}, []string{"client_email"}},
		"no professional":          {func(*Request) {}, RequiredFields{Professional: true}, []string{"professional_id"}},
		"any professional":         {func(*Request) {}, RequiredFields{}, nil},
		"everything at once":       {func(r *Request) { *r = Request{Phone: "1", Email: "x"} }, RequiredFields{}, []string{"client_name", "client_phone", "client_email"}},
		"everything is not there":  {func(r *Request) { *r = Request{} }, RequiredFields{true, true, true, true, ""}, []string{"client_name", "client_phone", "client_email", "professional_id"}},
		"blank is not there":       {func(r *Request) { r.Phone = "  " }, RequiredFields{Phone: true}, []string{"client_phone"}},
		"a professional for none":  {func(r *Request) { r.Professional = &professional }, RequiredFields{}, nil},
		"a number without area":    {func(r *Request) { r.Phone = "98765-4321" }, RequiredFields{}, []string{"client_phone"}},
		"the default area":         {func(r *Request) { r.Phone = "98765-4321" }, RequiredFields{AreaCode: "11"}, nil},
		"another area than that":   {func(r *Request) { r.Phone = "212345678" }, RequiredFields{AreaCode: "11"}, []string{"client_phone"}},
		"a phone beyond its bound": {func(r *Request) { r.Phone = strings.Repeat("(", 30) + "11 98765-4321" }, RequiredFields{}, []string{"client_phone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := valid
			request.change(&r)
			requireInvalid(t, r.Validate(request.required), request.fields...)
		})
	}
}

// Every bound of a number is itself allowed, and the number beyond it is not.
func TestBoundsOfSettings(t *testing.T) {
	t.Parallel()
	service := func(change func(*Service, int)) func(int) error {
		return func(n int) error {
			s := Service{DurationMinutes: 30, Capacity: 1, Price: MaxPrice}
			change(&s, n)
			return s.Validate()
		}
	}
	override := func(change func(*Override, int)) func(int) error {
		return func(n int) error {
			var o Override
			change(&o, n)
			return o.Validate("overrides.x")
		}
	}
	policy := func(change func(*Policy, int)) func(int) error {
		return func(n int) error {
			p := DefaultPolicy()
			change(&p, n)
			return p.Validate()
		}
	}
	loyalty := func(change func(*Loyalty, int)) func(int) error {
		return func(n int) error {
			l := Loyalty{Accrual: Spend, Rounding: Floor, Rewards: []Reward{{Name: "x", Points: 1, Type: FreeService}}}
			change(&l, n)
			return l.Validate()
		}
	}
	for field, bounds := range map[string]struct {
		least, most int
		validate    func(int) error
	}{
		"duration_minutes":                 {5, 1440, service(func(s *Service, n int) { s.DurationMinutes = n })},
		"price":                            {0, int(MaxPrice), service(func(s *Service, n int) { s.Price = Cents(n) })},
		"capacity":                         {1, 100, service(func(s *Service, n int) { s.Capacity = n })},
		"slot_interval_minutes":            {5, 240, service(func(s *Service, n int) { s.SlotIntervalMinutes = &n })},
		"buffer_before_minutes":            {0, 240, service(func(s *Service, n int) { s.BufferBeforeMinutes = &n })},
		"buffer_after_minutes":             {0, 240, service(func(s *Service, n int) { s.BufferAfterMinutes = &n })},
		"deposit_amount":                   {1, 50_00, service(func(s *Service, n int) { s.Price, s.RequiresDeposit, s.DepositAmount = 50_00, true, Cents(n) })},
		"overrides.x.custom_duration":      {5, 1440, override(func(o *Override, n int) { o.DurationMinutes = &n })},
		"overrides.x.custom_price":         {0, int(MaxPrice), override(func(o *Override, n int) { o.Price = ptr(Cents(n)) })},
		"slot_interval_minutes of all":     {5, 240, policy(func(p *Policy, n int) { p.SlotIntervalMinutes = &n })},
		"min_notice_minutes":               {0, 43200, policy(func(p *Policy, n int) { p.MinNoticeMinutes = n })},
		"max_advance_days":                 {1, 730, policy(func(p *Policy, n int) { p.MaxAdvanceDays = &n })},
		"cancel_notice_minutes":            {0, 43200, policy(func(p *Policy, n int) { p.CancelNoticeMinutes = n })},
		"reschedule_notice_minutes":        {0, 43200, policy(func(p *Policy, n int) { p.RescheduleNoticeMinutes = n })},
		"buffer_before_minutes of all":     {0, 240, policy(func(p *Policy, n int) { p.BufferBeforeMinutes = n })},
		"buffer_after_minutes of all":      {0, 240, policy(func(p *Policy, n int) { p.BufferAfterMinutes = n })},
		"max_bookings_per_day":             {1, 200, policy(func(p *Policy, n int) { p.MaxBookingsPerDay = &n })},
		"deposit_hold_minutes":             {5, 1440, policy(func(p *Policy, n int) { p.DepositHoldMinutes = n })},
		"deposit_refund_notice_minutes":    {0, 43200, policy(func(p *Policy, n int) { p.DepositRefundNoticeMinutes = &n })},
		"points_per_currency_unit":         {0, 100_000_000, loyalty(func(l *Loyalty, n int) { l.PointsPerUnit = Cents(n) })},
		"points_per_visit":                 {0, 1_000_000, loyalty(func(l *Loyalty, n int) { l.PointsPerVisit = int64(n) })},
		"signup_bonus":                     {0, 1_000_000, loyalty(func(l *Loyalty, n int) { l.SignupBonus = int64(n) })},
		"birthday_bonus":                   {0, 1_000_000, loyalty(func(l *Loyalty, n int) { l.BirthdayBonus = int64(n) })},
		"min_spend":                        {0, int(MaxPrice), loyalty(func(l *Loyalty, n int) { l.MinSpend = Cents(n) })},
		"points_expiration_days":           {1, 3650, loyalty(func(l *Loyalty, n int) { l.ExpirationDays = &n })},
		"rewards[0].points":                {1, 1_000_000, loyalty(func(l *Loyalty, n int) { l.Rewards[0].Points = int64(n) })},
		"rewards[0].value":                 {1, int(MaxPrice), loyalty(func(l *Loyalty, n int) { l.Rewards[0].Type, l.Rewards[0].Value = FixedDiscount, Cents(n) })},
		"rewards[0].value of a percentage": {1, 100_00, loyalty(func(l *Loyalty, n int) { l.Rewards[0].Type, l.Rewards[0].Value = PercentDiscount, Cents(n) })},
		"rewards": {1, 20, loyalty(func(l *Loyalty, n int) {
			reward := l.Rewards[0]
			for l.Rewards = nil; len(l.Rewards) < n; {
				l.Rewards = append(l.Rewards, reward)
			}
		})},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(field, " of ")
			requireInvalid(t, bounds.validate(bounds.least))
			requireInvalid(t, bounds.validate(bounds.most))
			requireInvalid(t, bounds.validate(bounds.most+1), name)
			if field != "rewards" { // there is no list shorter than none
				requireInvalid(t, bounds.validate(bounds.least-1), name)
			}
		})
	}
	requireInvalid(t, (&Loyalty{Accrual: Visit, Rounding: Ceil}).Validate())
	requireInvalid(t, (&Loyalty{Accrual: "x", Rounding: "y", Rewards: []Reward{{Name: " ", Points: 1, Type: "z"}}}).Validate(), "accrual_type", "rounding", "rewards[0].name", "rewards[0].type")
}

func TestSlugBounds(t *testing.T) {
	t.Parallel()
	for slug, want := range map[string]bool{
		"abc": true, "ab": false, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false, "a-b": true, "a-b-9": true, "a--b": false, "-ab": false, "ab-": false, "Abc": false, "a_b": false, "api": false, "docs": false, "apis": true,
	} {
		require.Equal(t, want, ValidSlug(slug), slug)
	}
}

// A day is full once as many bookings start on it as it may have; 0 is no bound.
func TestFull(t *testing.T) {
	t.Parallel()
	at := func(hour int) Busy {
		start := time.Date(2026, 3, 2, hour, 0, 0, 0, time.UTC)
		return Busy{Start: start, End: start.Add(time.Hour)}
	}
	date := NewDate(2026, 3, 2)
	calendar := Calendar{Busy: []Busy{at(9), at(10), at(24)}}
	for bound, want := range map[int]bool{0: false, 1: true, 2: true, 3: false} {
		calendar.MaxPerDay = bound
		require.Equal(t, want, calendar.Full(time.UTC, date), bound)
	}
	require.False(t, (&Calendar{}).Full(time.UTC, date))
}

// freeDays is [FreeDays] of a request that goes on.
func freeDays(t testing.TB, loc *time.Location, limits Limits, first, last Date, calendars []Calendar) []DayFree {
	t.Helper()
	days, err := FreeDays(t.Context(), loc, limits, first, last, calendars)
	require.NoError(t, err)
	return days
}

// countdown is a context that is cancelled once it was asked so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Nothing more is computed for a request that was abandoned.
func TestFreeDaysOfAbandonedRequest(t *testing.T) {
	t.Parallel()
	date := NewDate(2026, 3, 2)
	ctx := &countdown{Context: t.Context(), left: 2}
	days, err := FreeDays(ctx, time.UTC, Limits{}, date, date+30, make([]Calendar, 500))
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, days)
	require.Equal(t, -1, ctx.left, "it is asked for each calendar, and not again")
}

// Whole days are summed up from the first to the last, both included.
func TestFreeDaysBounds(t *testing.T) {
	t.Parallel()
	date := NewDate(2026, 3, 2)
	calendars := []Calendar{{
		Offer: Offer{Duration: time.Hour, Capacity: 1},
		Rules: []Rule{{Weekday: date.Weekday(), Start: 9 * 60, End: 11 * 60, Active: true}, {Weekday: date.Weekday() + 1, Start: 9 * 60, End: 10 * 60, Active: true}},
	}}
	require.Empty(t, freeDays(t, time.UTC, Limits{}, date, date-1, calendars))
	require.Equal(t, []DayFree{{Date: date, Free: 2, First: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}}, freeDays(t, time.UTC, Limits{}, date, date, calendars))
	days := freeDays(t, time.UTC, Limits{LastDate: &date}, date, date+1, calendars)
	require.Equal(t, []int{2, 0}, []int{days[0].Free, days[1].Free}, "no slot behind the last date")
	slots := Alternatives(time.UTC, Limits{}, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), 2, calendars)
	require.Equal(t, "[2026-03-02T10:00:00Z 2026-03-03T09:00:00Z]", fmt.Sprint(startsOf(slots)))
	// 14 days on is the last day that is looked at.
	far := date + alternativeDays
	only := []Calendar{{Offer: calendars[0].Offer, Exceptions: []Exception{{Date: far, Kind: Extra, Hours: &Hours{540, 600}}, {Date: far + 1, Kind: Extra, Hours: &Hours{540, 600}}}}}
	slots = Alternatives(time.UTC, Limits{}, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), 5, only)
	require.Equal(t, "[2026-03-16T09:00:00Z]", fmt.Sprint(startsOf(slots)))
}

// startsOf returns when slots start.
func startsOf(slots []Slot) (starts []string) {
	for _, slot := range slots {
		starts = append(starts, slot.Start.Format(time.RFC3339))
	}
	return starts
}
