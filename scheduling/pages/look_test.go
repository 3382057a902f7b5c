package pages

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/booking"
)

// "contrast kept AA whatever the colour".
func TestEveryColourIsReadable(t *testing.T) {
	t.Parallel()
	colours := []rgb{black, white, mustParseColor("#ffff00"), mustParseColor("#0000ff"), mustParseColor("#777777"), mustParseColor("#7f7f80"), mustParseColor("#00ff00"), mustParseColor("#ff0000")}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		colours = append(colours, quantize(rgb{random.Float64(), random.Float64(), random.Float64()}))
	}
	for _, c := range colours {
		look := newTheme(c)
		require.GreaterOrEqual(t, contrast(look.fill, look.label), textContrast, "%s", c)
		pointedAt := quantize(blend(c, look.hoverMix, 0.14, 0.14))
		require.GreaterOrEqual(t, contrast(pointedAt, look.label), textContrast, "%s where it is pointed at", c)
		for i, page := range [][]rgb{{lightGround, lightCard}, {darkGround, darkCard}} {
			for _, background := range append(page, quantize(look.soft[i])) {
				require.GreaterOrEqual(t, contrast(look.ink[i], background), textContrast, "ink of %s", c)
				require.GreaterOrEqual(t, contrast(look.edge[i], background), shapeContrast, "edge of %s", c)
			}
		}
		require.Regexp(t, `^[-:{};@a-z0-9#()]+$`, look.css(), "colours and nothing else")
	}
	_, ok := parseColor("red;}")
	require.False(t, ok)
	require.InDelta(t, 21, contrast(black, white), 0.001)
}

// The style sheet has the same backgrounds as the calculation.
func TestStyleSheetMatchesContrastBackgrounds(t *testing.T) {
	t.Parallel()
	sheet := string(assets["app.css"].bytes)
	for name, colours := range map[string][2]rgb{"ground": {lightGround, darkGround}, "surface": {lightCard, darkCard}} {
		found := regexp.MustCompile(`--`+name+`: (#[0-9a-f]{6});`).FindAllStringSubmatch(sheet, -1)
		require.Len(t, found, 2)
		for i, c := range colours {
			require.Equal(t, c.String(), found[i][1])
		}
	}
}

var verbs = regexp.MustCompile(`%[a-z]`)

// No text is missing in a language, and formats take the same everywhere.
func TestEveryMessageInEveryLanguage(t *testing.T) {
	t.Parallel()
	reference := textsOf(reflect.ValueOf(english.messages))
	for _, l := range languages {
		texts := textsOf(reflect.ValueOf(l.messages))
		require.Len(t, texts, len(reference))
		for name, text := range texts {
			require.NotEmpty(t, strings.TrimSpace(text), "%s in %s", name, l.tag)
			require.Equal(t, verbs.FindAllString(reference[name], -1), verbs.FindAllString(text, -1), "%s in %s", name, l.tag)
		}
	}
}

// Every text is used somewhere.
func TestNoUnusedMessages(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, dir := range []string{".", "templates"} {
		all.WriteString(sources(t, dir))
	}
	kind := reflect.TypeFor[messages]()
	var left []string
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; !regexp.MustCompile(`(\.T|\btext|\bp\.messages\(\))\.` + name + `\b`).MatchString(all.String()) {
			left = append(left, name)
		}
	}
	require.Empty(t, left)
}

func textsOf(v reflect.Value) map[string]string {
	texts := map[string]string{}
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if field.Kind() == reflect.String {
			texts[name] = field.String()
			continue
		}
		for j := range field.Len() {
			texts[name+"/"+string(rune('0'+j))] = field.Index(j).String()
		}
	}
	return texts
}

// "prices and dates by locale".
func TestFormats(t *testing.T) {
	t.Parallel()
	day := booking.NewDate(2026, time.March, 3)
	for _, tc := range []struct {
		l                                     *language
		brl, usd, chf, yen, long, month, noon string
	}{
		{&portuguese, "R$ 1.234.567,80", "US$ 1.234.567,80", "CHF 1.234.567,80", "¥ 1.234.567", "terça-feira, 3 de março de 2026", "março de 2026", "12:05 PM"},
		{&english, "R$1,234,567.80", "$1,234,567.80", "CHF 1,234,567.80", "¥1,234,567", "Tuesday, March 3, 2026", "March 2026", "12:05 PM"},
		{&spanish, "1.234.567,80 R$", "1.234.567,80 US$", "1.234.567,80 CHF", "1.234.567 ¥", "martes, 3 de marzo de 2026", "marzo de 2026", "12:05 p. m."},
	} {
		const amount = booking.Cents(123456780)
		got := []string{
			tc.l.formatMoney(amount, "BRL"), tc.l.formatMoney(amount, "USD"), tc.l.formatMoney(amount, "CHF"), tc.l.formatMoney(amount-80, "JPY"),
			tc.l.formatDay(day), tc.l.formatMonth(day), tc.l.formatClock(time.Date(2026, 3, 3, 12, 5, 0, 0, time.UTC), true),
		}
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], nbsp, " ")
		}
		require.Equal(t, []string{tc.brl, tc.usd, tc.chf, tc.yen, tc.long, tc.month, tc.noon}, got)
		require.Equal(t, "00:30", tc.l.formatClock(time.Date(2026, 3, 3, 0, 30, 0, 0, time.UTC), false))
		require.Contains(t, tc.l.formatClock(time.Date(2026, 3, 3, 0, 30, 0, 0, time.UTC), true), "12:30")
	}
	require.Equal(t, "-5,00", portuguese.formatNumber(-500, true))
	require.Equal(t, []string{"45 min", "1 h", "2 h 30 min"}, []string{spaced(formatDuration(45)), spaced(formatDuration(60)), spaced(formatDuration(150))})
	for zone, name := range map[string]string{"America/Sao_Paulo": "São Paulo (GMT−3)", "Asia/Kolkata": "Kolkata (GMT+5:30)", "America/Argentina/Buenos_Aires": "Buenos Aires (GMT−3)", "Atlantic/Reykjavik": "Reykjavik (GMT)", "UTC": "UTC"} {
		loaded, err := time.LoadLocation(zone)
		require.NoError(t, err)
		require.Equal(t, name, zoneName(time.Date(2026, 3, 3, 12, 0, 0, 0, loaded)))
	}
	require.Equal(t, []string{"(11) 98765-4321", "(11) 3333-4444", "+351912345678"}, []string{formatPhone("+5511987654321"), formatPhone("+551133334444"), formatPhone("+351912345678")})
	require.Equal(t, []string{"É", "4", "•"}, []string{initialOf("“Écla”"), initialOf("4you"), initialOf("!")})
}

func spaced(s string) string { return strings.ReplaceAll(s, nbsp, " ") }

func TestChosenLanguages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		asked, header, organization string
		want                        *language
	}{
		{"", "", "", &portuguese}, {"", "fr-FR,fr;q=0.9", "es-MX", &spanish}, {"", "de, es;q=0.3, en;q=0.7", "pt-BR", &english},
		{"pt-PT", "en", "es", &portuguese}, {"fr", "", "en", &english},
	} {
		got, explicit := chooseLanguage(tc.asked, tc.header, tc.organization)
		require.Same(t, tc.want, got, "%+v", tc)
		require.Equal(t, tc.asked == "pt-PT", explicit, "%+v", tc)
	}
}

// sources are the texts of a directory's files.
func sources(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}
