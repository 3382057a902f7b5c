package booking

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Cents is an amount of money in hundredths of the currency's unit. In JSON it is
// a number with two decimals. It never passes through a float.
type Cents int64

// MaxPrice is the highest price of a service: 99999999.99.
const MaxPrice Cents = 99_999_999_99

// The errors of [parseCents].
var (
	ErrNotANumber      error = fieldError("must be a number")
	ErrTooManyDecimals error = fieldError("must have at most two decimals")
	ErrAmountTooLarge  error = fieldError("is too large")
)

// fieldError is an error whose text is public.
type fieldError string

// Error implements error.
func (f fieldError) Error() string { return string(f) }

// PublicMessage returns the text for callers.
func (f fieldError) PublicMessage() string { return string(f) }

// maxExponent bounds the power of ten of a JSON number, so that sums with it do not
// overflow. No text has as many digits.
const maxExponent = 1 << 30

// parseCents reads a JSON number such as 150, 150.5, 150.00 or 1.5e2. Decimals
// after the second must be zeros. It fails with one of the errors above.
func parseCents(text string) (Cents, error) {
	if !isJSONNumber(text) {
		return 0, ErrNotANumber
	}
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	power, _ := strconv.Atoi(exponent) // 0 for none; saturates
	power = max(-maxExponent, min(power, maxExponent))
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, nil
	}
	power += 2 - len(fraction) // of ten, that the digits are to be multiplied by
	for power < 0 && strings.HasSuffix(digits, "0") {
		digits, power = digits[:len(digits)-1], power+1
	}
	if power < 0 {
		return 0, ErrTooManyDecimals
	}
	if len(digits)+power > len("9223372036854775807")-1 {
		return 0, ErrAmountTooLarge
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", power), 10, 64)
	if err != nil {
		return 0, ErrAmountTooLarge
	}
	if negative {
		n = -n
	}
	return Cents(n), nil
}

// isJSONNumber checks the grammar of RFC 8259, section 6.
func isJSONNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	digits := func() bool {
		n := 0
		for n < len(text) && '0' <= text[n] && text[n] <= '9' {
			n++
		}
		text = text[n:]
		return n > 0
	}
	if leading := strings.HasPrefix(text, "0"); leading {
		text = text[1:]
	} else if !digits() {
		return false
	}
	if rest, ok := strings.CutPrefix(text, "."); ok {
		if text = rest; !digits() {
			return false
		}
	}
	if text != "" && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		if !digits() {
			return false
		}
	}
	return text == ""
}

// String writes the amount with two decimals and a point, e.g. -12.50.
func (c Cents) String() string { return string(c.append(nil)) }

func (c Cents) append(b []byte) []byte {
	n := uint64(c)
	if c < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(b, n/100, 10)
	return append(b, '.', byte('0'+n%100/10), byte('0'+n%10))
}

// MarshalJSON writes a number with two decimals.
func (c Cents) MarshalJSON() ([]byte, error) { return c.append(nil), nil }

// UnmarshalJSON reads a number; see [parseCents]. null leaves the amount as it is.
func (c *Cents) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	parsed, err := parseCents(string(b))
	if err == nil {
		*c = parsed
	}
	return err
}

// Rounding is how a fraction is rounded.
type Rounding string

// The ways of rounding.
const (
	Floor   Rounding = "floor" // down
	Nearest Rounding = "round" // to the nearest, halves up
	Ceil    Rounding = "ceil"  // up
)

// Valid reports whether r is one of the ways of rounding.
func (r Rounding) Valid() bool { return r == Floor || r == Nearest || r == Ceil }

// MulDiv returns a × b ÷ divisor in whole numbers, rounded. a and b are not
// negative, divisor is positive. A product beyond 64 bits returns the largest number.
func (r Rounding) MulDiv(a, b, divisor int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	product := a * b
	whole, rest := product/divisor, product%divisor
	if r == Ceil && rest > 0 || r == Nearest && rest >= divisor-rest {
		whole++
	}
	return whole
}

// Share returns c × part ÷ whole, to the nearest cent, halves away from zero: averages
// and percentages of money. For a whole of 0 it returns 0.
func (c Cents) Share(part, whole int64) Cents {
	if whole == 0 {
		return 0
	}
	if c < 0 {
		return -(-c).Share(part, whole)
	}
	return Cents(Nearest.MulDiv(int64(c), part, whole))
}

// Decimals returns how many decimals a currency has by ISO 4217.
func Decimals(currency string) int {
	switch {
	case slices.Contains([]string{"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"}, currency):
		return 0
	case slices.Contains([]string{"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}, currency):
		return 3
	default:
		return 2
	}
}

// Payable reports whether an amount exists in a currency: yen have no hundredths.
func (c Cents) Payable(currency string) bool { return Decimals(currency) > 0 || c%100 == 0 }

// Whole returns the amount without decimals that the currency lacks.
func (c Cents) Whole(currency string) Cents {
	if c.Payable(currency) {
		return c
	}
	return c - c%100
}

// PaymentStatus is how much of an appointment's price is paid.
type PaymentStatus string

// The states of an appointment's payment.
const (
	Unpaid        PaymentStatus = "unpaid"
	PartiallyPaid PaymentStatus = "partial"
	FullyPaid     PaymentStatus = "paid"
)

// PaymentStatusOf compares what was paid, refunds taken off, with the price. Free
// appointments owe nothing and are unpaid until something is paid.
func PaymentStatusOf(price, paid Cents) PaymentStatus {
	switch {
	case paid <= 0:
		return Unpaid
	case paid < price:
		return PartiallyPaid
	default:
		return FullyPaid
	}
}
