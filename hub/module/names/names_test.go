package names_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/names"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		visible, line bool
		clean         string
	}{
		"Zoë O'Hara-Łuk\u200d\u0915": {true, true, "Zoë O'Hara-Łuk\u200d\u0915"},
		"  two  spaces ":             {true, true, "two  spaces"},
		"Joe\r\nBcc: x@example.com":  {true, false, "Joe Bcc: x@example.com"},
		"a\x00b\x07":                 {true, false, "a b"},
		"a\u2028b\u2029c\u0085d":     {true, false, "a b c d"},
		"\u202aa\u202e\u2066b\u2069": {true, false, "ab"},
		"\ufeffAna":                  {true, false, "Ana"},
		"\u2029\u202f":               {false, false, ""},
		"\u200b":                     {false, true, ""},
		" \u00a0":                    {false, true, ""},
		"":                           {false, true, ""},
	} {
		require.Equal(t, want.visible, names.HasVisible(name), "%q", name)
		require.Equal(t, want.line, names.IsOneLine(name), "%q", name)
		require.Equal(t, want.clean, names.Clean(name), "%q", name)
		require.True(t, names.IsOneLine(names.Clean(name)), "%q", name)
	}
}

// What nobody sees makes no other name. Joiners stay where they are seen.
func TestRemoveInvisible(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"José\u200b Lima": "José Lima", "\u200eJosé Li\u00adma\u200f": "José Lima", "José \u2060 Lima": "José Lima", "Jo\u200dsé\u200c": "José", "\u200b": "",
		"नर्\u200dस": "नर्\u200dस", "می\u200cخواهم": "می\u200cخواهم", "👩\u200d🚀": "👩\u200d🚀", "❤\ufe0f\u200d🔥": "❤\ufe0f\u200d🔥", "👩\u200d": "👩", "\u200d👩": "👩",
		"Ana\u202eSouza": "Ana\u202eSouza", "Ana\ufeff": "Ana\ufeff", "  two  spaces ": "  two  spaces ", "\u0600123": "\u0600123", "Ana\n\u200bSouza": "Ana\nSouza",
	} {
		require.Equal(t, want, names.RemoveInvisible(name), "%q", name)
	}
}
