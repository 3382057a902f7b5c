package booking

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func ptr[T any](value T) *T { return &value }

// requireInvalid wants a 422 that names exactly these fields.
func requireInvalid(t *testing.T, err error, fields ...string) {
	t.Helper()
	if len(fields) == 0 {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, hub.ErrInvalid)
	var problem *hub.Error
	require.ErrorAs(t, err, &problem)
	var named []string
	for _, fieldErr := range problem.Fields {
		named = append(named, strings.TrimPrefix(fieldErr.Location, "body."))
		require.Contains(t, problem.Detail, fieldErr.Message)
	}
	require.Equal(t, fields, named)
}

func TestRulesAndExceptionsAreChecked(t *testing.T) {
	t.Parallel()
	requireInvalid(t, Rule{Weekday: 6, Start: 540, End: 720, Break: &Break{1140, 1200}}.Validate()) // a break outside is kept
	requireInvalid(t, Rule{Weekday: 7, Start: 540, End: 540, Break: &Break{600, 600}}.Validate(), "day_of_week", "end_time", "break_end")
	requireInvalid(t, Rule{Weekday: -1, End: 1}.Validate(), "day_of_week")
	requireInvalid(t, Exception{Kind: Extra}.Validate())
	requireInvalid(t, Exception{Kind: Block, Hours: &Hours{600, 600}}.Validate(), "end_time")
	requireInvalid(t, Exception{Kind: "holiday"}.Validate(), "exception_type")
}

func TestPairsOfTimes(t *testing.T) {
	t.Parallel()
	pair := func(start, end *string) (*Hours, error) { return ParsePair(start, end, "break_start", "break_end") }
	none, err := pair(nil, nil)
	require.NoError(t, err)
	require.Nil(t, none)
	both, err := pair(ptr("12:00"), ptr("13:30"))
	require.NoError(t, err)
	require.Equal(t, &Hours{720, 810}, both)
	_, err = pair(ptr("12:00"), nil)
	requireInvalid(t, err, "break_end")
	_, err = pair(nil, ptr("12:00"))
	requireInvalid(t, err, "break_start")
	_, err = pair(ptr("24:00"), ptr("noon"))
	requireInvalid(t, err, "break_start", "break_end")
}

func TestServicesAreChecked(t *testing.T) {
	t.Parallel()
	good := Service{DurationMinutes: 60, Price: 100_00, Capacity: 1, RequiresDeposit: true, DepositAmount: 100_00}
	requireInvalid(t, good.Validate())
	bad := good
	bad.DepositAmount = 100_01
	requireInvalid(t, bad.Validate(), "deposit_amount")
	bad.DepositAmount = 0
	requireInvalid(t, bad.Validate(), "deposit_amount")
	bad.RequiresDeposit = false
	requireInvalid(t, bad.Validate())
	requireInvalid(t, Service{
		DurationMinutes: 4, Price: MaxPrice + 1, Capacity: 101, SlotIntervalMinutes: ptr(4), BufferBeforeMinutes: ptr(-1), BufferAfterMinutes: ptr(241),
	}.Validate(), "duration_minutes", "price", "capacity", "slot_interval_minutes", "buffer_before_minutes", "buffer_after_minutes")
	requireInvalid(t, Override{}.Validate("overrides.x"))
	requireInvalid(t, Override{ptr(1441), ptr(Cents(-1))}.Validate("overrides.x"), "overrides.x.custom_duration", "overrides.x.custom_price")
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	requireInvalid(t, DefaultPolicy().Validate())
	requireInvalid(t, Policy{
		SlotIntervalMinutes: ptr(241), MinNoticeMinutes: -1, MaxAdvanceDays: ptr(731), CancelNoticeMinutes: 43201, RescheduleNoticeMinutes: -1,
		BufferBeforeMinutes: 241, BufferAfterMinutes: -1, MaxBookingsPerDay: ptr(0), DepositHoldMinutes: 4, DepositRefundNoticeMinutes: ptr(-1),
	}.Validate(), "slot_interval_minutes", "min_notice_minutes", "max_advance_days", "cancel_notice_minutes", "reschedule_notice_minutes",
		"buffer_before_minutes", "buffer_after_minutes", "max_bookings_per_day", "deposit_hold_minutes", "deposit_refund_notice_minutes")
}

func TestLoyaltyIsChecked(t *testing.T) {
	t.Parallel()
	reward := Reward{Name: "A cut", Points: 1, Type: PercentDiscount, Value: 100_00}
	good := Loyalty{Accrual: Spend, Rounding: Floor, PointsPerUnit: 100, Rewards: []Reward{reward}}
	requireInvalid(t, good.Validate())
	good.Rewards = make([]Reward, 0, 21)
	for range 21 {
		good.Rewards = append(good.Rewards, reward)
	}
	requireInvalid(t, good.Validate(), "rewards")
	requireInvalid(t, (&Loyalty{
		Accrual: "month", Rounding: "up", PointsPerUnit: -1, PointsPerVisit: -1, SignupBonus: -1, BirthdayBonus: -1, MinSpend: -1, ExpirationDays: ptr(0),
		Rewards: []Reward{{Name: " ", Type: FixedDiscount}, {Name: "x", Points: 1, Type: PercentDiscount, Value: 100_01}, {Name: "x", Points: 1, Type: "gift"}, {Name: "x", Points: 1, Type: FreeService}},
	}).Validate(), "accrual_type", "rounding", "points_per_currency_unit", "points_per_visit", "signup_bonus", "birthday_bonus", "min_spend", "points_expiration_days",
		"rewards[0].name", "rewards[0].points", "rewards[0].value", "rewards[1].value", "rewards[2].type")
}

func TestSlugs(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"abc", "a-b", "studio-42", strings.Repeat("a", 63)} {
		require.True(t, ValidSlug(good), good)
	}
	for _, bad := range []string{"", "ab", "-abc", "abc-", "a--b", "Abc", "açaí", "a b", "book", "api", "docs", strings.Repeat("a", 64)} {
		require.False(t, ValidSlug(bad), bad)
	}
}
