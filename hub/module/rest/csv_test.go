package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/rest"
)

func TestEscapeCSVCell(t *testing.T) {
	t.Parallel()
	for _, formula := range []string{"=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝1", "＋1", "－1", "＠x", "'=1", "'＋1", "''=1", "'7"} {
		require.Equal(t, "'"+formula, rest.EscapeCSVCell(formula))
	}
	for _, text := range []string{"", "Ana", "a=1", " =1", "'", "''", "'Ana", "7", "çedilha"} {
		require.Equal(t, text, rest.EscapeCSVCell(text))
	}
}
