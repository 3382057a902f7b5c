package eventtype

import (
	"regexp/syntax"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is a sequence of runs is matched as one: it takes a tenth of the time.
func TestSequencesOfRuns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		`^$`: true, `^a$`: true, `^ab[c-e]$`: true, `^[0-9]{5}-[0-9]{3}$`: true, `^([0-9]{5})-?([0-9]{3})$`: true, `^[a-c]*[d-f]+$`: true, `^[d-f]*[a-c]$`: true,
		`^.{2,4}$`: true, `^a?b?c$`: true, `^(a(b)c)d$`: true,
		`a`: false, `^a`: false, `a$`: false, `^(ab)+$`: false, `^(?:ab)+$`: false, `^(a+)*$`: false, `^(a?){2}$`: false, `^(a{0,2})?b$`: false, `^(a|bc)$`: false, `(?i)^ab$`: false, `^[a-c]*[c-e]$`: false, `^[c-e]*[a-c]$`: false,
	} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		require.NoError(t, err)
		require.Equal(t, want, runsOf(parsed) != nil, pattern)
	}
}
