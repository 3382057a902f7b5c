package mask

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/brazil"
)

func TestCPF(t *testing.T) {
	t.Parallel()
	const m = "***.***.***-25"
	for text, want := range map[string]string{
		// plain text; more of it is in hubtest.CPFTexts
		"":                                 "",
		`{"cpf":"529.982.247-25","cut":"a`: `{"cpf":"` + m + `","cut":"a`, // cut JSON is text
		// JSON
		`{"cpf":"529.982.247-25"}`:                      `{"cpf":"` + m + `"}`,
		`{"cpf": 52998224725 , "n":1}`:                  `{"cpf": "` + m + `" , "n":1}`,
		`[52998224725,-52998224725,52998224725.0]`:      `["` + m + `",-52998224725,52998224725.0]`,
		`[52998224725e0,152998224725]`:                  `[52998224725e0,152998224725]`,
		`52998224725`:                                   `"` + m + `"`,
		`[98765432100,0.52998224725]`:                   `["***.***.***-00",0.52998224725]`, // numbers of the last digit and of the first
		`{"529.982.247-25":{"x":["a 52998224725"]}}`:    `{"` + m + `":{"x":["a ` + m + `"]}}`,
		`"a\n52998224725\t"`:                            `"a\n` + m + `\t"`,
		`"\u00a052998224725"`:                           "\"\u00a0" + m + `"`,
		`"\u0035\u0032998224725"`:                       `"` + m + `"`,
		`"529.982.247\u002d25"`:                         `"` + m + `"`,
		`"say \"529.982.247-25\" \\"`:                   `"say \"` + m + `\" \\"`,
		`{"at":1767323045,"price":150.00,"e":"\u00e9"}`: `{"at":1767323045,"price":150.00,"e":"\u00e9"}`,
	} {
		before := strings.Clone(text)
		got := CPF([]byte(text))
		require.Equal(t, want, string(got))
		require.Equal(t, before, text)
		require.Equal(t, want, string(CPF(got)), "masking again changes nothing")
	}
}

// Every masking function masks the same tax ids, anywhere in JSON.
func TestCPFInTexts(t *testing.T) {
	t.Parallel()
	for _, taxID := range hubtest.CPFTexts {
		require.Equal(t, taxID.Redacted, Text(taxID.Text), "%q", taxID.Text)
		if !json.Valid([]byte(taxID.Text)) {
			require.Equal(t, taxID.Redacted, string(CPF([]byte(taxID.Text))), "%q", taxID.Text)
		}
		for _, form := range []string{"%s", "a 101 %s z"} {
			text, err := json.Marshal(map[string]any{"a": []string{strings.ReplaceAll(form, "%s", taxID.Text)}})
			require.NoError(t, err)
			var got struct{ A []string }
			require.NoError(t, json.Unmarshal(CPF(text), &got), taxID.Text)
			require.Equal(t, []string{strings.ReplaceAll(form, "%s", taxID.Redacted)}, got.A)
		}
	}
}

func TestCPFKeepsItsInput(t *testing.T) {
	t.Parallel()
	text := []byte(`{"cpf":"529.982.247-25","n":52998224725}`)
	before := bytes.Clone(text)
	CPF(text)
	require.Equal(t, before, text)
	plain := []byte(`{"a":1}`)
	require.Same(t, &plain[0], &CPF(plain)[0])
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, want string }{
		{"X-Integration-Key", "sch_live_0123456789abcdefghijABCDEFGHIJ123456", "…3456"},
		{"x-integration-key", "short", "…"},
		{"X-Api-Key", "sk-0123456789abcdef", "…cdef"},
		{"X-Api-Key", "0123456789abcdef", "…cdef"}, // the shortest key whose end is shown
		{"X-Api-Key", "0123456789abcde", "…"},
		{"Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x", "Bearer …"},
		{"authorization", "Basic dXNlcjpwYXNz", "Basic …"},
		{"Authorization", "eyJhbGciOiJIUzI1NiJ9", "…"},
		{"Authorization", "verylongsecretwithoutascheme x", "…"},
		{"Authorization", "AWS4-HMAC-SHA256 Credential=x", "AWS4-HMAC-SHA256 …"}, // the longest scheme
		{"Authorization", "AWS4-HMAC-SHA256x Credential=x", "…"},
		{"Proxy-Authorization", "Basic dXNlcjpwYXNz", "Basic …"},
		{"X-Webhook-Signature", "sha256=ecdddc7b5363587dc6ba21d1809cec7f99e84a1783123d46208b1cf98a774dee", "sha256=ecdddc7b…"},
		{"webhook-signature", "v1,0QTXu38W3CSVTai1IV0OElizYSBDflh4cbsEXbZFsdg= v1,abcdefghijklmnop", "v1,0QTXu38W3CSV… v1,abcdefghijkl…"},
		{"webhook-signature", "v1,abc", "v1,…"},
		{"webhook-signature", "v1,456789012345 v1,4567890123456", "v1,4567… v1,456789012345…"}, // 15 and 16 characters
		{"Cookie", "session=abc", "…"},
		{"Set-Cookie", "session=abc", "…"},
		{"X-Auth-Token", "abc", "…"},
		{"X-Client-Secret", "abc", "…"},
		{"webhook-id", "evt_0123456789abcdef", "evt_0123456789abcdef"},
		{"webhook-timestamp", "1767323045", "1767323045"},
		{"Content-Type", "application/json", "application/json"},
		{"Authorization", "", ""},
	} {
		require.Equal(t, test.want, Header(test.name, test.value), test.name)
	}
}

// formatted matches tax ids in the usual form that are not part of longer numbers.
var formatted = regexp.MustCompile(`(?:^|[^0-9])\d{3}\.\d{3}\.\d{3}-\d{2}(?:$|[^0-9])`)

func FuzzCPF(f *testing.F) {
	for _, seed := range []string{
		`{"cpf":"529.982.247-25","n":[52998224725,-1.5e3],"\u0035":"a\n52998224725"}`, "CPF 529.982.247-25", `"529.982.247\u002d25"`, "52998224725", `"\ud800 52998224725"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		masked := CPF(text)
		require.Equal(t, before, text)
		require.Equal(t, masked, CPF(masked))
		require.False(t, formatted.Match(masked), "%s", masked)
		if !json.Valid(text) {
			return
		}
		require.True(t, json.Valid(masked), "%s", masked)
		var tree any
		decoder := json.NewDecoder(bytes.NewReader(masked))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&tree))
		requireMasked(t, tree)
	})
}

// requireMasked requires that no decoded string or number of a JSON value is a tax id.
func requireMasked(t *testing.T, node any) {
	t.Helper()
	switch node := node.(type) {
	case string:
		require.False(t, formatted.MatchString(node), node)
	case json.Number:
		if len(node) == cpfDigits && !strings.ContainsAny(string(node), ".eE-") {
			_, valid := brazil.ParseCPF(string(node))
			require.False(t, valid, node)
		}
	case []any:
		for _, child := range node {
			requireMasked(t, child)
		}
	case map[string]any:
		for key, child := range node {
			requireMasked(t, key)
			requireMasked(t, child)
		}
	}
}
