package care_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
)

// Names agree if one is written shorter than the other. How much shorter depends on whether
// the birth date is the same.
func TestNamesAgree(t *testing.T) {
	t.Parallel()
	const never, born, always = 0, 1, 2
	for _, test := range []struct {
		a, b string
		when int
	}{
		{"Ana Souza", "Ana Souza", always},
		{"ANA DE SOUZA", "Ana Souza", always},
		{"José da Conceição", "jose conceicao", always},
		{"Souza, Ana", "Ana Souza", always},
		{"Ana S. Souza", "Ana Souza", always},
		{"Ana S. Souza", "Ana Silva Souza", always},
		{"Ana S. L. Souza", "Ana Silva Souza", always},
		{"Mãe d'Água", "Mae Agua", always},
		{"Da", "da", always},
		{"Ana", "Ana", always},
		{"Ana", "Ana Souza", born},
		{"Ana Souza", "Ana Maria Souza", born}, // mother and daughter, or one person
		{"Ana Souza", "Ana Souza Lima", born},
		{"Ana Souza", "Ana S.", born},
		{"Ana S.", "Ana Souza", born},
		{"José Souza", "José Souza Filho", born},
		{"Ana M. Souza", "Ana Silva Souza", never},
		{"Ana Souza", "Ana Lima", never},
		{"Ana Souza", "Bia Souza", never},
		{"A. Maria Souza", "Ana Maria Souza", always}, {"A. Maria S. Lima", "Ana Maria Souza Lima", always}, {"A. Souza de Lima", "Ana Souza Lima", always},
		{"A. Souza", "Ana Souza", never}, {"A. Souza", "Bruno Souza", never}, {"A. Maria Souza", "Bia Maria Souza", never}, {"A. Maria Souza", "Ana Clara Souza", never},
		{"A. S.", "Ana Souza", never}, {"A. M. S.", "Ana Maria Souza", never}, {"A. M. Souza", "Ana Maria Souza", never}, {"A. Maria S.", "Ana Maria Souza", never},
		{"A. Maria Souza", "Ana Maria Souza Lima", never}, {"A. Maria Souza", "Souza Ana Maria", never}, {"Al Maria Souza", "Alice Maria Souza", never},
		{"José Souza", "Maria José Souza", never},
		{"Souza", "Ana Souza", never},
		{"Maria Clara Souza", "Maria Luisa Souza", never},
		{"Ana Souza Lima", "Ana Lima Souza Reis", never},
		{"Ana Ana Souza", "Ana Souza Souza", never},
		{"Ana Souza", "Ana Sousa", never},
		{"", "Ana", never}, {"", "", never}, {"-", "-", never},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			require.Equal(t, test.when >= born, care.NamesAgree(pair[0], pair[1], true), "%v, born on the same day", pair)
			require.Equal(t, test.when == always, care.NamesAgree(pair[0], pair[1], false), "%v", pair)
		}
	}
	// A name of initials takes no longer than others.
	long := strings.Repeat("a ", 60)
	require.False(t, care.NamesAgree("Ana "+long+"x", "Ana "+long+"y", true))
}

func TestFullerName(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"Ana Souza", "ANA SOUZA", "ANA SOUZA"}, {"Ana de Souza", "Ana Souza", "Ana Souza"}, {"Ana Silva Souza", "Ana S. Souza", "Ana Silva Souza"},
		{"Ana Souza", "Ana Maria Souza", "Ana Maria Souza"}, {"Ana Maria Souza", "Ana Souza", "Ana Maria Souza"},
	} {
		require.Equal(t, test[2], care.FullerName(test[0], test[1]))
	}
}

func TestInitials(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Ana de Souza": "A. S.", "émile": "E.", "a b c f g": "A. B. C. F. G.", "a b c f g h": "A. B. C. F. G.", "": "", "Da": "D.",
	} {
		require.Equal(t, want, care.Initials(name))
	}
}
