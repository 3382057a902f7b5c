package care

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Amount is money in hundredths. In JSON it is a number with two decimals, in the
// database numeric(12,2). It never passes through a float.
type Amount int64

// MaxAmount is the largest amount of a payment: 9999999999.99.
const MaxAmount Amount = 9_999_999_999_99

// malformed says what is wrong with an amount, for people.
type malformed string

// Error implements error.
func (m malformed) Error() string { return string(m) }

// PublicMessage is what callers are told.
func (m malformed) PublicMessage() string { return string(m) }

var amountForm = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,15})(\.[0-9]+)?$`)

// ParseAmount reads a decimal number such as 150, 150.5 or 150.00. Decimals after the
// second must be zeros. The error is for people.
func ParseAmount(s string) (Amount, error) {
	if !amountForm.MatchString(s) {
		return 0, malformed("must be a decimal number")
	}
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 2 {
		return 0, malformed("must have at most two decimals")
	}
	n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	if err != nil {
		return 0, malformed("is too large")
	}
	if negative {
		n = -n
	}
	return Amount(n), nil
}

// String writes the amount with two decimals and a point, e.g. -12.50.
func (a Amount) String() string {
	sign, n := "", uint64(a)
	if a < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// MarshalJSON writes a number with two decimals.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON reads a number; see [ParseAmount].
func (a *Amount) UnmarshalJSON(b []byte) (err error) {
	*a, err = ParseAmount(string(b))
	return err
}

// Value implements driver.Valuer.
func (a Amount) Value() (driver.Value, error) { return a.String(), nil }

// Scan implements sql.Scanner.
func (a *Amount) Scan(from any) (err error) {
	text, ok := from.(string)
	if !ok {
		return fmt.Errorf("reading an amount: it is a %T", from)
	}
	*a, err = ParseAmount(text)
	return err
}
