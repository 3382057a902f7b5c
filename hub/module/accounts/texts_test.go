package accounts

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing is left unsaid in any language, and the number of minutes is said in each.
func TestEveryLanguageHasEveryText(t *testing.T) {
	t.Parallel()
	require.Len(t, languages, 3)
	for tag, l := range languages {
		all := reflect.ValueOf(*l)
		for i := range all.NumField() {
			require.NotEmpty(t, all.Field(i).String(), "%s: %s", tag, all.Type().Field(i).Name)
		}
		require.Equal(t, 1, strings.Count(l.LimitedText, "%d"), tag)
		for _, named := range []string{l.Hello, l.InviteSubject, l.InviteLetter, l.ResetLetter} {
			require.Equal(t, 1, strings.Count(named, "%s"), "%s: %s", tag, named)
		}
	}
}
