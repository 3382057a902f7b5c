package care_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
	"integrationhub/hub/hubtest"
)

func TestCPF(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"123.456.789-09": "12345678909", "12345678909": "12345678909", "529.982.247-25": "52998224725", " 529 982 247 25 ": "52998224725",
		"123.456.789-08": "", "123.456.788-09": "", "111.111.111-11": "", "00000000000": "", "1234567890": "", "123456789091": "", "": "", "x": "", "123.456.789-0x": "",
	} {
		require.Equal(t, want, care.ParseCPF(text), "%q", text)
	}
	require.Equal(t, "123.456.789-09", care.FormatCPF("12345678909"))
	require.Equal(t, "***.***.***-09", care.MaskCPF("09"))
}

func TestAmount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]care.Amount{
		"0": 0, "7": 700, "7.5": 750, "7.05": 705, "7.050": 705, "-12.5": -1250, "9999999999.99": care.MaxAmount, "0.1": 10,
	} {
		got, err := care.ParseAmount(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		var scanned care.Amount
		require.NoError(t, scanned.Scan(got.String()))
		require.Equal(t, got, scanned)
	}
	for _, text := range []string{"", "x", "1.005", "1e3", ".5", "5.", "01", "+1", "99999999999999999999", "1,5", "NaN"} {
		_, err := care.ParseAmount(text)
		require.Error(t, err, text)
	}
	raw, err := json.Marshal([]care.Amount{-5, 150_50})
	require.NoError(t, err)
	require.Equal(t, `[-0.05,150.50]`, string(raw))
	var a care.Amount
	require.Error(t, a.Scan(7))
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"CPF 123.456.789-09.": "CPF ***.***.***-09.", "12345678909": "***.***.***-09", "123.456.789-00": "***.***.***-00",
		"F32, F32.1, J45 and f32.1": "***, ***, *** and ***", "CID-10: M54.5": "CID-10: ***",
		"call +5511987654321": "call +5511987654321", "F32, f32.1 e F321": "***, *** e ***", "F32.1X, S72.001A": "***, ***", "_F32_ a_f32.1": "_***_ a_***", "f321": "***", "f321 f322, (f323)": "*** ***, (***)",
		"cid f32": "cid ***", "CID F 32.1": "CID ***", "CID-10 f32": "CID-10 ***", "cid10: f-32": "cid10: ***", "CID f32, f41 e F33.2; retorno": "CID ***; retorno", "icd f32 after": "icd *** after",
		"F32.Depois": "***.Depois", "Dr. Rui F32.1": "Dr. Rui ***", "https://x.example/F32.1?a=f32.1": "https://x.example/***?a=***",
		// No codes, or nothing that distinguishes them from other words.
		"Vitamina B12": "Vitamina B12", "vitamina B12 e B15": "vitamina B12 e ***", "f32": "f32", "cidade f32": "cidade f32", "às h14, sala b12": "às h14, sala b12", "A1 B2 c3": "A1 B2 c3",
		"1b9d6bcd-bbfd-e123-9b5d-ab8dfbbd4bed": "1b9d6bcd-bbfd-e123-9b5d-ab8dfbbd4bed", "CRM/SP 123456": "CRM/SP 123456",
		"order 123456789012": "order 123456789012", "12345678900": "12345678900",
		"": "", "nothing to hide": "nothing to hide", "room A4": "room A4", "ABC123": "ABC123", "***.***.***-09": "***.***.***-09",
	} {
		got := care.Redact(text)
		require.Equal(t, want, got)
		require.Equal(t, want, care.Redact(got), "twice is once")
	}
}

func TestRedactCPFs(t *testing.T) {
	t.Parallel()
	for _, cPFText := range hubtest.CPFTexts {
		require.Equal(t, cPFText.Redacted, care.RedactCPFs(cPFText.Text), "%q", cPFText.Text)
		require.Equal(t, cPFText.Redacted, care.Redact(cPFText.Text), "%q", cPFText.Text)
	}
}

func TestPeerView(t *testing.T) {
	t.Parallel()
	require.Equal(t, &care.PeerView{Type: "x", Summary: "y ***"}, care.Normal.PeerView("x", "y F32"))
	require.Equal(t, &care.PeerView{Type: "restricted", Summary: "***"}, care.Restricted.PeerView("x", "y"))
	require.Nil(t, care.VeryRestricted.PeerView("x", "y"))
	require.Nil(t, care.Sensitivity("?").PeerView("x", "y"))
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	require.Equal(t, "çé", care.Truncate("çéã", 2))
	require.Equal(t, "çéã", care.Truncate("çéã", 3))
	require.Equal(t, "abc", care.Truncate("abc", 9))
}

func FuzzCPF(f *testing.F) {
	f.Add("123.456.789-09")
	f.Add("111.111.111-11")
	f.Fuzz(func(t *testing.T, text string) {
		digits := care.ParseCPF(text)
		if digits == "" {
			return
		}
		require.Len(t, digits, 11)
		require.Equal(t, digits, care.ParseCPF(care.FormatCPF(digits)))
		require.NotContains(t, care.Redact("a "+digits+" b"), digits)
		require.NotEqual(t, len(digits), strings.Count(digits, digits[:1]))
	})
}
