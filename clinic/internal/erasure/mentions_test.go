package erasure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/erasure"
)

func TestMentionMatcher(t *testing.T) {
	t.Parallel()
	person := erasure.MentionMatcher{Names: []string{"João da Silva", "J. P. Lima"}, Phones: []string{"+5511977771234", "+12025550123"}, Emails: []string{"Joao@Example.com"}}
	for text, want := range map[string][3]bool{ // has contact, is named, is mentioned
		"":                           {},
		"Consulta":                   {},
		"11 97777-1234":              {true, true, true},
		"(11)7777.1234":              {true, true, true},
		"wa:12025550123":             {true, true, true},
		"7777-123":                   {},
		"to joao@example.com.":       {true, true, true},
		"with JOAO DA SILVA, again":  {false, true, true},
		"joão_da_silva":              {false, true, true},
		"Joao Silva":                 {false, true, true}, // first and last
		"Dr. Joao Souza":             {false, false, true},
		"the son of João":            {false, false, true},
		"João da Silveira":           {false, false, true},
		"da Silva":                   {},
		"Hall J":                     {},
		"Joaozinho":                  {},
		"J. P. Lima":                 {false, true, true},
		"Maria da Silva, John Lima ": {},
	} {
		require.Equal(t, want, [3]bool{person.HasContactIn(text), person.IsIdentifiedIn(text), person.IsIdentifiedByFirstNameIn(text)}, text)
	}
	unknown := erasure.MentionMatcher{Names: []string{"", "…"}, Phones: []string{"", "123"}}
	for _, text := range []string{"", "anything 123", "…"} {
		require.False(t, unknown.IsIdentifiedByFirstNameIn(text), text)
	}
}
