package care

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Amount is an amount of money in hundredths. It is a number with two decimals in JSON and
// numeric(12,2) in the database, and never passes through a float.
type Amount int64

// MaxAmount is the largest amount of a payment: 9999999999.99.
const MaxAmount Amount = 9_999_999_999_99

// amountError says what is wrong with an amount, for users.
type amountError string

// Error implements error.
func (m amountError) Error() string { return string(m) }

// PublicMessage returns the message for callers of the API.
func (m amountError) PublicMessage() string { return string(m) }

var amountPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,15})(\.[0-9]+)?$`)

// ParseAmount parses a decimal number such as 150, 150.5 or 150.00. Decimals after the
// second must be zeros. The error is for users.
func ParseAmount(s string) (Amount, error) {
	if !amountPattern.MatchString(s) {
		return 0, amountError("must be a decimal number")
	}
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 2 {
		return 0, amountError("must have at most two decimals")
	}
	n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	if err != nil {
		return 0, amountError("is too large")
	}
	if negative {
		n = -n
	}
	return Amount(n), nil
}

// String returns the amount with two decimals and a point, such as -12.50.
func (a Amount) String() string {
	sign, n := "", uint64(a)
	if a < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// MarshalJSON encodes a number with two decimals.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON decodes a number; see [ParseAmount].
func (a *Amount) UnmarshalJSON(b []byte) (err error) {
	*a, err = ParseAmount(string(b))
	return err
}

// Value implements driver.Valuer.
func (a Amount) Value() (driver.Value, error) { return a.String(), nil }

// Scan implements sql.Scanner.
func (a *Amount) Scan(src any) (err error) {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("reading an amount: it is a %T", src)
	}
	*a, err = ParseAmount(text)
	return err
}
