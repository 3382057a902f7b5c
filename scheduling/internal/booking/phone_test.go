package booking

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/brazil"
)

func TestPhoneForms(t *testing.T) {
	t.Parallel()
	for _, phone := range hubtest.Phones {
		require.Equal(t, phone.E164, *E164(phone.Written), phone.Written)
		require.Contains(t, PhoneForms(phone.Written), phone.E164)
		if phone.WithoutNinthDigit == "" {
			require.Equal(t, []string{phone.E164}, PhoneForms(phone.E164))
			continue
		}
		require.Contains(t, PhoneForms(phone.Written), phone.WithoutNinthDigit)
		require.Equal(t, []string{phone.E164, phone.WithoutNinthDigit}, PhoneForms(phone.WithoutNinthDigit))
	}
	for _, sent := range []string{"", "123", "+1234567", "1234567890123456", "11 98765-4321 ramal 7"} {
		require.Nil(t, E164(sent), sent)
	}
	for _, phone := range hubtest.Phones {
		require.True(t, isValidPhone(phone.Written), phone.Written)
	}
	for _, none := range hubtest.InvalidPhones {
		require.Nil(t, E164(none), none)
	}
	require.Equal(t, []string{"+5512125551234", "+12125551234"}, PhoneForms("12125551234"), "as it may be from elsewhere")
}

// A number that lacks its area code is stored in international form with the default one.
func TestCompletePhone(t *testing.T) {
	t.Parallel()
	for phone, want := range map[string]string{"98888-7772": "+5521988887772", "(11) 98888-7772": "(11) 98888-7772", "11 98765-4321 ramal 7": "11 98765-4321 ramal 7"} {
		completed, ok := CompletePhone(phone, "21")
		require.True(t, ok, phone)
		require.Equal(t, want, completed)
	}
	for phone, problem := range map[string]string{"98888-7772": brazil.MessageNoAreaCode, "123": brazil.MessageInvalidPhone} {
		completed, ok := CompletePhone(phone, "")
		require.False(t, ok, phone)
		require.Equal(t, phone, completed)
		require.Equal(t, problem, PhoneProblem(completed))
	}
	_, ok := CompletePhone("212345678", "21")
	require.False(t, ok, "no number in Brazil")
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
