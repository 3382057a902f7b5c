package accounts

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every text exists in every language, with its placeholders.
func TestEveryLanguageHasEveryText(t *testing.T) {
	t.Parallel()
	require.Len(t, textsByLanguage, 3)
	for tag, texts := range textsByLanguage {
		fields := reflect.ValueOf(*texts)
		for i := range fields.NumField() {
			require.NotEmpty(t, fields.Field(i).String(), "%s: %s", tag, fields.Type().Field(i).Name)
		}
		require.Equal(t, 1, strings.Count(texts.LimitedText, "%d"), tag)
		for _, text := range []string{texts.Hello, texts.InviteSubject, texts.InviteEmail, texts.ResetEmail} {
			require.Equal(t, 1, strings.Count(text, "%s"), "%s: %s", tag, text)
		}
	}
}
