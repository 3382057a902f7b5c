package brazil_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/brazil"
)

func TestPhones(t *testing.T) {
	t.Parallel()
	for _, phone := range hubtest.Phones {
		require.Equal(t, phone.E164, brazil.FormatE164(phone.Written), phone.Written)
		require.Equal(t, phone.E164, brazil.FormatE164(" "+phone.Written+" "), "spaces around it")
		if phone.WithoutNinthDigit == "" {
			require.Equal(t, phone.E164, brazil.PhoneKey(phone.E164), phone.Written)
			require.Equal(t, []string{phone.E164}, brazil.PhoneVariants(phone.E164), phone.Written)
			continue
		}
		require.Equal(t, phone.WithoutNinthDigit, brazil.PhoneKey(phone.E164), phone.Written)
		require.Equal(t, phone.WithoutNinthDigit, brazil.PhoneKey(phone.WithoutNinthDigit), phone.Written)
		for _, form := range []string{phone.E164, phone.WithoutNinthDigit} {
			require.Equal(t, []string{phone.E164, phone.WithoutNinthDigit}, brazil.PhoneVariants(form), form)
			require.Equal(t, form, brazil.FormatE164(form))
			require.Equal(t, form, brazil.FormatE164(form[1:]))
			require.Equal(t, form, brazil.FormatE164(form[3:]))
		}
	}
	for _, invalid := range hubtest.InvalidPhones {
		require.Empty(t, brazil.FormatE164(invalid), "%q", invalid)
	}
	require.Equal(t, "+12125551234", brazil.FormatE164(brazil.PhoneFromQuery(" 12125551234")))
	require.Equal(t, "+5511987654321", brazil.FormatE164(brazil.PhoneFromQuery("11987654321")))
}

// Where one rule for dialling prefixes, country codes or lengths ends and the next begins.
func TestPhoneBoundaries(t *testing.T) {
	t.Parallel()
	for name, phone := range map[string]struct{ written, want string }{
		"the shortest number":                    {"+12345678", "+12345678"},
		"a digit less":                           {"+1234567", ""},
		"the longest number":                     {"+123456789012345", "+123456789012345"},
		"a digit more":                           {"+1234567890123456", ""},
		"a carrier behind a trunk 0 in brackets": {"(0)15 11 98765-4321", "+5511987654321"},
		"11 digits are area 55, not the country": {"55098765432", "+5555098765432"},
		"12 digits are the country, and a trunk": {"5501133334444", "+551133334444"},
		"the longest number without country":     {"5512345678901234", ""},
		"10 digits with the country are an area": {"5598888777", "+555598888777"},
		"behind the country 10 digits have one":  {"+55 1133334444", "+551133334444"},
		"behind the country 7 digits are short":  {"+55 1234567", "+551234567"},
		"behind the country 8 digits have none":  {"+55 12345678", ""},
		"abroad 8 and 9 digits are whole":        {"+35 412345", "+35412345"},
		"abroad without a plus":                  {"00354123456", "+354123456"},
	} {
		require.Equal(t, phone.want, brazil.FormatE164(phone.written), name)
	}
}

func TestParseCPF(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"123.456.789-09": "12345678909", "12345678909": "12345678909", "529.982.247-25": "52998224725", " 529 982 247 25 ": "52998224725", "000.000.001-91": "00000000191",
	} {
		digits, valid := brazil.ParseCPF(text)
		require.True(t, valid, text)
		require.Equal(t, want, digits, text)
	}
	for _, mistyped := range []string{"123.456.789-08", "123.456.788-09", "111.111.111-11", "00000000000"} {
		digits, valid := brazil.ParseCPF(mistyped)
		require.False(t, valid, mistyped)
		require.Len(t, digits, 11)
	}
	for _, invalid := range []string{"", "x", "1234567890", "123456789091", "123.456.789-0x", "１２３４５６７８９０９"} {
		digits, valid := brazil.ParseCPF(invalid)
		require.False(t, valid, invalid)
		require.Empty(t, digits, invalid)
	}
	require.Equal(t, "123.456.789-09", brazil.FormatCPF("12345678909"))
	require.Equal(t, "123", brazil.FormatCPF("123"))
	require.Equal(t, "***.***.***-09", brazil.MaskCPF("09"))
}

func TestRedactCPFs(t *testing.T) {
	t.Parallel()
	for _, cpfText := range hubtest.CPFTexts {
		redacted, changed := brazil.RedactCPFs(cpfText.Text)
		require.Equal(t, cpfText.Redacted, redacted, "%q", cpfText.Text)
		require.Equal(t, cpfText.Text != cpfText.Redacted, changed, "%q", cpfText.Text)
		require.Len(t, brazil.FindCPFs(cpfText.Text), strings.Count(cpfText.Redacted, "***.***.***-")-strings.Count(cpfText.Text, "***.***.***-"), "%q", cpfText.Text)
		raw, _ := brazil.RedactCPFs([]byte(cpfText.Text))
		require.Equal(t, cpfText.Redacted, string(raw), "%q", cpfText.Text)
	}
}

// With invalid check digits only the usual format counts; with valid ones, any groups of
// whole threes and up to three separators do.
func TestRedactCPFsBoundaries(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"529982.247-25", "529.982247-25", "529.982.24725", "52998224725", "529982247-25",
		"529\t982\t247\t25", "529\v982\f247\r25", "529\n982\n247\n25", "529...982---247   25", "529\u00a0982\u2011247\u200b25",
	} {
		redacted, changed := brazil.RedactCPFs(text)
		require.True(t, changed, "%q", text)
		require.Equal(t, "***.***.***-25", redacted, "%q", text)
	}
	redacted, _ := brazil.RedactCPFs("529.982.247-26")
	require.Equal(t, "***.***.***-26", redacted, "a typing error in the usual format")
	require.Equal(t, []string{"52998224725", "12345678909"}, brazil.FindCPFs("a 5 2 9 9 8 2 2 4 7 2 5, １２３.456.789-09 and 123"))
	for _, text := range []string{
		"529-982.247-26", "529.982-247-26", "529.982.247.26", "529. 982.247-26", "529.982.247- 26", "529.982. 247-26", "52998224726", "529982.247-26",
		"529\b982\b247\b25", "529\x0e982\x0e247\x0e25", "529\x80982\x80247\x8025", "529....982.247-25", "5299.82.247-25", "52.9982.247-25", "529.982.2472-5",
	} {
		_, changed := brazil.RedactCPFs(text)
		require.False(t, changed, "%q", text)
	}
}

// groups is what can be a tax id in a text, by its form; G stands for what is between.
var groups = regexp.MustCompile(strings.NewReplacer(
	"D", `[0-9\x{FF10}-\x{FF19}]`, "G", `[.,\-/_\\ \x{B7}\x{2022}\x{2212}\x{2044}\x{2215}\x{FF0E}\x{FF0C}\x{FF0F}\x{FF3F}\x{FF3C}\t-\r\p{Z}\p{Pd}\p{Cf}]`,
).Replace(`^(?:D{3}G{0,3}D{3}G{0,3}D{3}G{0,3}D{2}|D(?:G{1,3}D){10})`))

// narrow replaces the full-width characters of a tax id.
var narrow = strings.NewReplacer("０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9", "．", ".", "－", "-")

// redactSlowly is a simple reference implementation: it tries every position of a text.
func redactSlowly(text string) string {
	endsInDigit, beginsWithDigit := regexp.MustCompile(`[0-9\x{FF10}-\x{FF19}]$`), regexp.MustCompile(`^[0-9\x{FF10}-\x{FF19}]`)
	redacted := ""
	for i := 0; i < len(text); {
		found := groups.FindString(text[i:])
		digits := brazil.Digits(narrow.Replace(found))
		_, valid := brazil.ParseCPF(digits)
		isAdjacent := endsInDigit.MatchString(text[max(0, i-3):i]) || beginsWithDigit.MatchString(text[i+len(found):])
		if found == "" || isAdjacent || !valid && narrow.Replace(found) != brazil.FormatCPF(digits) {
			redacted += text[i : i+1]
			i++
			continue
		}
		redacted += brazil.MaskCPF(digits[9:])
		i += len(found)
	}
	return redacted
}

func FuzzRedactCPFs(f *testing.F) {
	for _, cpfText := range hubtest.CPFTexts {
		f.Add(cpfText.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// Fuzzing makes no check digits: the text with one put in at each end and between.
		for _, text := range []string{text, text + "52998224725", "529.982.247-25" + text, text + "529 982 247 25" + text, text + "5 2 9 9 8 2 2 4 7 2 5" + text, "５２９" + text + "９８２２４７２５"} {
			redacted, changed := brazil.RedactCPFs(text)
			require.Equal(t, redactSlowly(text), redacted, "%q", text)
			require.Equal(t, text != redacted, changed, "%q", text)
			twice, changed := brazil.RedactCPFs(redacted)
			require.Equal(t, redacted, twice)
			require.False(t, changed)
		}
	})
}

func FuzzPhones(f *testing.F) {
	for _, phone := range hubtest.Phones {
		f.Add(phone.Written)
	}
	f.Add("0150 119876 5432") // a carrier, and one more 0
	f.Fuzz(func(t *testing.T, s string) {
		number := brazil.FormatE164(s)
		if number == "" {
			return
		}
		require.Regexp(t, `^\+[1-9][0-9]{7,14}$`, number)
		require.Equal(t, number, brazil.FormatE164(number), "what is international stays")
		forms := brazil.PhoneVariants(number)
		require.Contains(t, forms, number)
		for _, form := range forms {
			require.Equal(t, brazil.PhoneKey(number), brazil.PhoneKey(form), "all forms have one key")
			require.Equal(t, forms, brazil.PhoneVariants(form))
		}
		digits, valid := brazil.ParseCPF(s)
		require.True(t, !valid || len(digits) == 11)
	})
}

// Numbers without an area code are completed with the default one, and nothing else is.
func TestDefaultAreaCode(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"98888-7772": "+5521988887772", "0 98888-7772": "+5521988887772", "+55 98888-7772": "+5521988887772", "3333-4444": "+552133334444", "2333-4444": "+552123334444",
		"8888-7772": "+552188887772", "550987654321": "+5521987654321", "(11) 98888-7772": "+5511988887772", "+12125551234": "+12125551234",
		"212345678": "", "812345678": "", "1333-4444": "", "0333-4444": "", "1234567": "", "+5": "", "": "",
	} {
		require.Equal(t, want, brazil.FormatE164In(written, "21"), written)
	}
	for written, lacks := range map[string]bool{
		"98888-7772": true, "3333-4444": true, "212345678": true, "12345678": true, "+55 98888-7772": true, "1234567": false, "1234567890": false, "11987654321": false,
		"+98888777": false, "988887772 ramal 7": false, "": false,
	} {
		require.Equal(t, lacks, brazil.LacksAreaCode(written), written)
		if !lacks {
			require.Equal(t, written, brazil.AddAreaCode(written, "21"), "it stays as it was written")
		}
		require.Equal(t, written, brazil.AddAreaCode(written, ""))
	}
	require.Equal(t, "+5521988887772", brazil.AddAreaCode(" 98888-7772", "21"))
	require.Equal(t, "212345678", brazil.AddAreaCode("212345678", "21"), "no number in Brazil")
	require.Empty(t, brazil.PhoneProblem("98888-7772", "21"))
	require.Equal(t, brazil.MessageNoAreaCode, brazil.PhoneProblem("98888-7772", ""))
	require.Equal(t, brazil.MessageInvalidPhone, brazil.PhoneProblem("212345678", "21"))
	require.Equal(t, brazil.MessageInvalidPhone, brazil.PhoneProblem("123", ""))
	for _, doubled := range []string{"+55+5511987654321", "55 55 11 98765-4321", "555511987654321", "+55 55 11 3333-4444", "+55 119876543210"} {
		require.Equal(t, brazil.MessageInvalidPhone, brazil.PhoneProblem(doubled, ""), doubled)
	}
	for _, phone := range []string{"+55 55 98765-4321", "55 98765-4321", "+55 11 98765-4321", "+55 1234567", "+123456789012345"} {
		require.Empty(t, brazil.PhoneProblem(phone, ""), phone)
	}
	count := 0
	for code := range 1000 {
		if brazil.IsAreaCode(strconv.Itoa(code)) {
			count++
		}
	}
	require.Equal(t, 67, count)
	for _, none := range []string{"", " ", "1", "10", "23", "011", "11 ", " 11", "1 ", " 1", "11 12", "ab"} {
		require.False(t, brazil.IsAreaCode(none), "%q", none)
	}
}

func TestFillerPhones(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{
		"(11) 99999-9999", "11 9999-9999", "(00) 00000-0000", "11 11111-1111", "(21) 91111-1111", "21 98888-8888", "11 3333-3333", "+1 999 999 9999", "99999999999",
	} {
		number := brazil.FormatE164(filler)
		if number == "" { // nobody can have it anyway
			continue
		}
		require.True(t, brazil.IsFillerPhone(number), filler)
		require.True(t, brazil.IsFillerPhone(brazil.PhoneKey(number)), filler)
	}
	require.True(t, brazil.IsFillerPhone("+5511999999999"))
	require.True(t, brazil.IsFillerPhone("+551199999999"))
	for _, phone := range hubtest.Phones {
		require.False(t, brazil.IsFillerPhone(phone.E164), phone.E164)
	}
	for _, number := range []string{"", "+", "+55", "+9999999", "+5511987654321", "+5511912345678", "+5511999999998", "+5511999999989"} {
		require.False(t, brazil.IsFillerPhone(number), number)
	}
}
