package language_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/language"
)

var supported = []string{"pt-BR", "en", "es"}

func TestMatch(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"pt": "pt-BR", "pt-PT": "pt-BR", " EN-us ": "en", "es-419": "es", "e": "", "": "", "fr": "", "*": ""} {
		require.Equal(t, want, language.Match(tag, supported...), tag)
	}
	require.Empty(t, language.Match("pt"))
}

func TestMatchAcceptLanguage(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                           "",
		"en":                         "en",
		"fr, es;q=0.5, en;q=0.4":     "es",
		"en;q=0.4,pt-PT;q=0.9":       "pt-BR",
		"en, es":                     "en", // equal quality: the first
		"es;q=0, en;q=0.1":           "en",
		"es;q=nonsense, en;q=0.001":  "en",
		"fr;q=1.0, de":               "",
		"*":                          "",
		"en ; q=0.3 , es-MX ; q=0.8": "es",
	} {
		require.Equal(t, want, language.MatchAcceptLanguage(header, supported...), header)
	}
}
