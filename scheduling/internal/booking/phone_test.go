package booking

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPhonesInInternationalForm(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"(11) 98765-4321": "+5511987654321", "+55 11 98765-4321": "+5511987654321", "5511987654321": "+5511987654321",
		"011 3456-7890": "+551134567890", "+351 912 345 678": "+351912345678",
	} {
		require.Equal(t, want, *E164(sent), sent)
	}
	for _, sent := range []string{"", "123", "+1234567", "1234567890123456"} {
		require.Nil(t, E164(sent), sent)
	}
}

func TestPhoneForms(t *testing.T) {
	t.Parallel()
	with, without := "+5511987654321", "+551187654321"
	for _, sent := range []string{"11987654321", "1187654321", "+55 11 98765-4321", "55 11 8765-4321"} {
		require.Contains(t, PhoneForms(sent), with, sent)
		require.Contains(t, PhoneForms(sent), without, sent)
	}
	require.NotContains(t, PhoneForms("1134567890"), "+5511934567890", "landlines have no ninth digit")
	require.Equal(t, []string{"+5511933334444"}, PhoneForms("+5511933334444"), "nor do they come of mobiles")
	require.Equal(t, []string{"+351912345678"}, PhoneForms("+351912345678"))
}

func TestCPF(t *testing.T) {
	t.Parallel()
	digits, valid, ok := CPFDigits("529.982.247-25")
	require.True(t, valid && ok)
	require.Equal(t, "52998224725", digits)
	require.Equal(t, "529.982.247-25", FormatCPF(digits))
	for _, mistyped := range []string{"52998224726", "11111111111"} {
		_, valid, ok = CPFDigits(mistyped)
		require.True(t, ok)
		require.False(t, valid)
	}
	for _, none := range []string{"", "5299822472", "529.982.247-2a"} {
		_, _, ok = CPFDigits(none)
		require.False(t, ok, none)
	}
}
