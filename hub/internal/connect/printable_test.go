package connect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys and secrets are ASCII that prints, without spaces, of the lengths that the API states.
func TestKeysAndSecretsArePrintable(t *testing.T) {
	t.Parallel()
	for _, text := range []struct {
		name              string
		is                func(string) bool
		shortest, longest int
	}{{"key", isKey, 1, 512}, {"secret", isSecret, 16, 256}} {
		for length, want := range map[int]bool{0: false, text.shortest - 1: false, text.shortest: true, text.longest: true, text.longest + 1: false} {
			require.Equal(t, want, text.is(strings.Repeat("k", length)), "%s of %d", text.name, length)
		}
		for character, want := range map[string]bool{"!": true, "~": true, " ": false, "\x7f": false, "\n": false, "\x00": false, "é": false, "\xff": false} {
			require.Equal(t, want, text.is(strings.Repeat("k", 16)+character), "%s with %q", text.name, character)
			require.Equal(t, want, text.is(character+strings.Repeat("k", 16)), "%s with %q", text.name, character)
		}
	}
}
