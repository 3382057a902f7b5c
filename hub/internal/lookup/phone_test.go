package lookup_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/lookup"
)

func TestParse(t *testing.T) {
	t.Parallel()
	mobile := []string{"+5511987654321", "+551187654321"}
	for text, want := range map[string][]string{
		"+55 11 98765-4321": mobile, "+5511987654321": mobile, "5511987654321": mobile, "11987654321": mobile, "(11) 98765-4321": mobile,
		"011 98765-4321": mobile, "11.98765.4321": mobile,
		" 5511987654321": mobile, // the plus of a query that was not escaped
		"+551187654321":  mobile, "551187654321": mobile, "1187654321": mobile, "(11) 8765-4321": mobile,
		"55 98765-4321":     {"+5555987654321", "+555587654321"}, // an area that looks like the country
		"5555987654321":     {"+5555987654321", "+555587654321"},
		"11 3333-4444":      {"+551133334444"}, // landlines have no ninth digit
		"11 93333-4444":     {"+5511933334444"},
		"+1 (415) 555-2671": {"+14155552671"},
		" 1 415 555 2671":   {"+14155552671"},
		"+39 06 1234 5678":  {"+390612345678"}, // a leading zero that counts
		"+351 912 345 678":  {"+351912345678"},
	} {
		phone, err := lookup.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, phone.Forms, text)
	}
	for _, entry := range hubtest.Phones {
		want := []string{entry.E164}
		if entry.WithoutNinthDigit != "" {
			want = append(want, entry.WithoutNinthDigit)
			phone, err := lookup.Parse(entry.WithoutNinthDigit)
			require.NoError(t, err, entry.WithoutNinthDigit)
			require.Equal(t, want, phone.Forms, entry.WithoutNinthDigit)
		}
		phone, err := lookup.Parse(entry.Written)
		require.NoError(t, err, entry.Written)
		require.Equal(t, want, phone.Forms, entry.Written)
	}
	phone, err := lookup.Parse("11987654321")
	require.NoError(t, err)
	require.Equal(t, []string{
		"11987654321", "(11) 98765-4321", "11 98765-4321", "1187654321", "(11) 8765-4321", "11 8765-4321",
	}, phone.Spellings)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range hubtest.InvalidPhones {
		_, err := lookup.Parse(text)
		require.ErrorIs(t, err, hub.ErrInvalid, "%q", text)
	}
	for _, text := range []string{
		"", " ", "+", "7", "98765-4321", "8765-4321", "+55", "+5511", "12345678901234567890", "+999 1234567", "0800-FLOWERS",
		"11987654321; drop table", "11\x00987654321", "٠١٢٣٤٥٦٧٨٩", "+55 11 98765-4321 ext. 5", "tel:+5511987654321", "1111111111111111111111111111111111111111111",
	} {
		_, err := lookup.Parse(text)
		require.ErrorIs(t, err, hub.ErrInvalid, "%q", text)
		require.NotContains(t, err.Error(), "987654321\x00")
	}
}
