package booking

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestParseCents(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Cents{
		"0": 0, "-0": 0, "0.00": 0, "0e99": 0, "0e-99999999999999999999": 0, "150": 15000, "150.5": 15050, "150.00": 15000, "0.07": 7,
		"1.5e2": 15000, "1E+2": 10000, "100e-2": 100, "1050e-3": 105, "10.500000": 1050, "-12.34": -1234,
		"99999999.99": MaxPrice, "9999999999999999.99": 999999999999999999,
		"0.1": 10, "0.29": 29, "1.005000e3": 100500, // floats would miss some of these
	} {
		got, err := parseCents(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]error{
		"": ErrNotANumber, `"10"`: ErrNotANumber, "1,5": ErrNotANumber, "+1": ErrNotANumber, "01": ErrNotANumber, ".5": ErrNotANumber,
		"1.": ErrNotANumber, "1e": ErrNotANumber, "1e+": ErrNotANumber, "--1": ErrNotANumber, "NaN": ErrNotANumber, "true": ErrNotANumber, " 1": ErrNotANumber,
		"1.001": ErrTooManyDecimals, "0.001": ErrTooManyDecimals, "1e-3": ErrTooManyDecimals, "1e-9999": ErrTooManyDecimals,
		"1e18": ErrAmountTooLarge, "1e999999999999999999999": ErrAmountTooLarge, "99999999999999999999": ErrAmountTooLarge,
	} {
		_, err := parseCents(in)
		require.ErrorIs(t, err, want, in)
	}
}

func TestCentsInJSON(t *testing.T) {
	t.Parallel()
	var body struct {
		Price  Cents  `json:"price"`
		Paid   *Cents `json:"paid"`
		Absent Cents  `json:"absent"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"price": 80.5, "paid": null}`), &body))
	out, err := json.Marshal(body)
	require.NoError(t, err)
	require.Equal(t, `{"price":80.50,"paid":null,"absent":0.00}`, string(out))
	require.Error(t, json.Unmarshal([]byte(`{"price": "80"}`), &body))
	require.Error(t, json.Unmarshal([]byte(`{"price": 80.123}`), &body))
	require.Equal(t, "-92233720368547758.08", Cents(math.MinInt64).String())
	require.Equal(t, "-0.05", Cents(-5).String())
}

func FuzzParseCents(f *testing.F) {
	for _, seed := range []string{"1.50", "-3e2", "0.001", "1e400", "12345678901234567890"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseCents(text)
		var number json.Number
		valid := json.Unmarshal([]byte(text), &number) == nil && text == strings.TrimSpace(text) && text != "null" && !strings.HasPrefix(text, `"`)
		require.Equal(t, valid, err != ErrNotANumber, "a JSON number or not") //nolint:errorlint // exactly this one
		if err != nil {
			return
		}
		again, err := parseCents(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
		if exact, ok := new(big.Rat).SetString(text); ok && len(text) < 60 && !strings.ContainsAny(text, "eE") {
			require.Zero(t, exact.Cmp(big.NewRat(int64(got), 100)), "the amount is not what was written")
		}
	})
}

func TestRounding(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ a, b, by, floor, nearest, ceil int64 }{
		{10, 1, 4, 2, 3, 3}, {9, 1, 4, 2, 2, 3}, {8, 1, 4, 2, 2, 2}, {0, 7, 3, 0, 0, 0}, {7, 0, 3, 0, 0, 0}, {5, 1, 10, 0, 1, 1}, {4, 1, 10, 0, 0, 1},
		{math.MaxInt64, 2, 3, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 1, math.MaxInt64, 1, 1, 1},
	} {
		got := []int64{Floor.MulDiv(test.a, test.b, test.by), Nearest.MulDiv(test.a, test.b, test.by), Ceil.MulDiv(test.a, test.b, test.by)}
		require.Equal(t, []int64{test.floor, test.nearest, test.ceil}, got, fmt.Sprint(test))
	}
	require.Equal(t, Cents(3333), Cents(10000).Share(1, 3))
	require.Equal(t, Cents(-1), Cents(-1).Share(1, 2), "halves away from zero")
	require.Equal(t, Cents(0), Cents(100).Share(1, 0))
	require.True(t, Floor.Valid() && Nearest.Valid() && Ceil.Valid() && !Rounding("up").Valid())
}

func TestCurrencies(t *testing.T) {
	t.Parallel()
	require.True(t, Cents(1050).Payable("BRL"))
	require.False(t, Cents(1050).Payable("JPY"))
	require.True(t, Cents(1000).Payable("JPY"))
}

func TestPaymentStatus(t *testing.T) {
	t.Parallel()
	require.Equal(t, Unpaid, PaymentStatusOf(1000, 0))
	require.Equal(t, PartiallyPaid, PaymentStatusOf(1000, 999))
	require.Equal(t, FullyPaid, PaymentStatusOf(1000, 1000))
	require.Equal(t, FullyPaid, PaymentStatusOf(1000, 1500))
	require.Equal(t, Unpaid, PaymentStatusOf(0, 0))
}

func TestPointsEarned(t *testing.T) {
	t.Parallel()
	cut, color := named("cut"), named("color")
	program := Loyalty{Enabled: true, Accrual: Spend, PointsPerUnit: 100, Rounding: Floor}
	require.Equal(t, int64(80), program.PaymentPoints(80_50, cut))
	require.Equal(t, int64(80), program.PaymentPoints(80_50, uuid.Nil), "all services: money for none counts too")
	require.Zero(t, program.VisitPoints(80_50, cut), "points are for money")
	program.Rounding = Nearest
	require.Equal(t, int64(81), program.PaymentPoints(80_50, cut))
	program.PointsPerUnit = 25 // a quarter point
	require.Equal(t, int64(20), program.PaymentPoints(80_50, cut))
	program.Rounding = Ceil
	require.Equal(t, int64(21), program.PaymentPoints(80_50, cut))
	program.MinSpend = 100_00
	require.Zero(t, program.PaymentPoints(99_99, cut))
	require.Equal(t, int64(25), program.PaymentPoints(100_00, cut))
	require.Zero(t, program.PaymentPoints(-200_00, cut))
	program.EligibleServices = []uuid.UUID{color}
	require.Zero(t, program.PaymentPoints(100_00, cut))
	require.Zero(t, program.PaymentPoints(100_00, uuid.Nil))
	require.Equal(t, int64(25), program.PaymentPoints(100_00, color))

	program.Accrual, program.PointsPerVisit = Visit, 3
	require.Zero(t, program.PaymentPoints(100_00, color), "points are for visits")
	require.Equal(t, int64(3), program.VisitPoints(100_00, color))
	require.Zero(t, program.VisitPoints(99_99, color))
	require.Zero(t, program.VisitPoints(100_00, cut))
	program.Enabled = false
	require.Zero(t, program.VisitPoints(100_00, color))
}

func TestReversal(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(80), Reversal(80, 80_50, 80_50))
	require.Equal(t, int64(0), Reversal(80, 80_50, 0))
	require.Equal(t, int64(6), Reversal(10, 30_00, 15_01))
	require.Equal(t, int64(10), Reversal(10, 30_00, 45_00))
	require.Zero(t, Reversal(0, 30_00, 30_00))
	require.Zero(t, Reversal(10, 0, 0))
}

func TestRewards(t *testing.T) {
	t.Parallel()
	cut, color := named("cut"), named("color")
	fixed := Reward{Type: FixedDiscount, Value: 20_00}
	require.Equal(t, Cents(20_00), fixed.Discount(50_00, cut))
	require.Equal(t, Cents(15_00), fixed.Discount(15_00, cut))
	percent := Reward{Type: PercentDiscount, Value: 12_50, Service: &cut}
	require.Equal(t, Cents(6_25), percent.Discount(50_00, cut))
	require.Equal(t, Cents(0), percent.Discount(50_00, color))
	free := Reward{Type: FreeService}
	require.Equal(t, Cents(50_00), free.Discount(50_00, cut))
	require.Zero(t, (&Reward{Type: "gift"}).Discount(50_00, cut))

	program := Loyalty{Rewards: []Reward{{Points: 500, Active: true}, {Points: 100, Active: true}, {Points: 120}, {Points: 200, Active: true}}}
	next, missing := program.NextReward(100)
	require.Equal(t, int64(200), next.Points, "100 is reached, 120 is switched off")
	require.Equal(t, int64(100), missing)
	next, missing = program.NextReward(500)
	require.Nil(t, next)
	require.Zero(t, missing)
}

func TestPointsExpire(t *testing.T) {
	t.Parallel()
	loc := zoneOf(t, "America/Sao_Paulo")
	days := 30
	program := Loyalty{ExpirationDays: &days}
	at := func(day int) time.Time { return time.Date(2026, 1, day, 15, 0, 0, 0, loc) }
	entries := []PointsEntry{{100, at(1)}, {50, at(10)}, {-120, at(11)}, {40, at(10)}, {-5, at(12)}}
	// 25 of the tenth's first 50 are left, and all of its 40.
	overdue, next, when := program.Expiry(entries, at(20), loc)
	require.Zero(t, overdue)
	require.Equal(t, int64(65), next)
	require.Equal(t, "2026-02-10T00:00:00-03:00", when.Format(time.RFC3339))
	overdue, next, when = program.Expiry(entries, when, loc)
	require.Equal(t, int64(65), overdue)
	require.Zero(t, next)
	require.True(t, when.IsZero())
	overdue, next, _ = (&Loyalty{}).Expiry(entries, at(20), loc)
	require.Zero(t, overdue+next)
}
