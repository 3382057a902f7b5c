package chat_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestMenus(t *testing.T) {
	t.Parallel()
	first := 1
	menu, problem := chat.NormalizeMenu([]chat.MenuOption{{ID: 1, Title: " Hours "}, {Title: "Address", Message: "Rua Augusta"}, {Title: "Weekend", ParentID: &first}, {Title: "Person", Option: "0"}})
	require.Empty(t, problem)
	require.Equal(t, []chat.MenuOption{
		{ID: 1, Title: "Hours", Option: "1"}, {ID: 2, Title: "Address", Message: "Rua Augusta", Option: "2"}, {ID: 3, Title: "Weekend", Option: "1", ParentID: &first}, {ID: 4, Title: "Person", Option: "0"},
	}, menu)
	top := chat.OptionsUnder(menu, nil)
	require.Equal(t, "Choose:\n\n1 - Hours\n2 - Address\n0 - Person", chat.FormatMenu("Choose:", top))
	require.Equal(t, "1 - Weekend", chat.FormatMenu("", chat.OptionsUnder(menu, &first)))
	require.Equal(t, "Choose:", chat.FormatMenu("Choose:", nil))
	full, problem := chat.NormalizeMenu(slices.Repeat([]chat.MenuOption{{Title: "a"}}, chat.MaxMenuOptions))
	require.Empty(t, problem)
	require.Equal(t, "100", full[99].Option)
	longest := chat.MenuOption{ID: 1000, Title: strings.Repeat("é", 60), Message: strings.Repeat("é", 4096), Option: strings.Repeat("é", 10), Action: chat.ActionBook, Service: strings.Repeat("é", 200)}
	first = 1000
	below := chat.MenuOption{ID: 1, Title: "a", Option: "1", Action: chat.ActionBook, ParentID: &first}
	menu, problem = chat.NormalizeMenu([]chat.MenuOption{longest, below})
	require.Empty(t, problem)
	require.Equal(t, []chat.MenuOption{longest, below}, menu)
	for answer, id := range map[string]int{"1": 1, " 2. ": 2, "2)": 2, "address": 2, "0 - person": 4, "3": 0, "": 0, "12": 0, "one": 0} {
		chosen, ok := chat.ChooseOption(top, answer)
		require.Equal(t, id != 0, ok, answer)
		require.Equal(t, id, chosen.ID, answer)
	}
	unknown := 9
	for name, invalid := range map[string][]chat.MenuOption{
		"the same id":       {{ID: 1, Title: "a"}, {ID: 1, Title: "b"}},
		"no title":          {{Title: " "}},
		"the same answer":   {{Title: "a", Option: "A"}, {Title: "b", Option: "a"}},
		"an unknown parent": {{Title: "a", ParentID: &unknown}},
		"a later parent":    {{ID: 2, Title: "a", ParentID: &first}, {ID: 1, Title: "b"}},
		"its own parent":    {{ID: 1, Title: "a", ParentID: &first}},
		"an id too high":    {{ID: 1001, Title: "a"}},
		"a negative id":     {{ID: -1, Title: "a"}},
		"a long title":      {{Title: strings.Repeat("é", 61)}},
		"a long message":    {{Title: "a", Message: strings.Repeat("é", 4097)}},
		"a long answer":     {{Title: "a", Option: strings.Repeat("é", 11)}},
		"another action":    {{Title: "a", Action: "cancel"}},
		"a long service":    {{Title: "a", Action: chat.ActionBook, Service: strings.Repeat("é", 201)}},
		"a service alone":   {{Title: "a", Service: "Haircut"}},
		"too many":          make([]chat.MenuOption, chat.MaxMenuOptions+1),
	} {
		_, problem := chat.NormalizeMenu(invalid)
		require.NotEmpty(t, problem, name)
	}
}

func TestWordsOfContacts(t *testing.T) {
	t.Parallel()
	words := []string{"SAIR", "NÃO QUERO"}
	for text, consent := range map[string]string{
		"sair": chat.ConsentOptedOut, " Sair! ": chat.ConsentOptedOut, "não quero": chat.ConsentOptedOut, "start": chat.ConsentOptedIn, "Voltar.": chat.ConsentOptedIn,
		"nao quero": chat.ConsentOptedOut, "NÃO  QUERO": chat.ConsentOptedOut, "na\u0303o quero": chat.ConsentOptedOut, "«Sair»,": chat.ConsentOptedOut, "\u200bsair?": chat.ConsentOptedOut,
		"sair de casa": "", "": "", "!": "", "PARAR": "",
	} {
		require.Equal(t, consent, chat.ConsentOf(text, words), text)
	}
	for text, rating := range map[string]int{"1": 1, " 5 ": 5, "0": 0, "6": 0, "10": 0, "": 0,
		"4!": 4, "5.": 5, "5\ufe0f\u20e3": 5, "5\u20e3": 5, "nota 5": 5, "Nota: 3": 3, "NOTA4": 4, "05": 5, "(2)": 2,
		"005": 0, "55": 0, "5 5": 0, "06": 0, "4.5": 0, "-": 0, "-1": 0, "nota": 0, "nota dez": 0, "5 minutos": 0, "anota 5": 0, "5/10": 0, "5%": 0} {
		got, ok := chat.ParseRating(text)
		require.Equal(t, rating != 0, ok, text)
		require.Equal(t, rating, got, text)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2027, 3, 1, hour, 5, 0, 0, time.UTC) }
	v := chat.Variables{Name: "Ana {email} Souza", Email: "ana@example.com", Number: "5511987654321", Protocol: "17", At: at(9)}
	require.Equal(t, "Bom dia, Ana {email} Souza (Ana): 17, 09:05", chat.Render("{{ms}}, {{name}} ({{firstName}}): {{protocol}}, {{hora}}", v), "values are not replaced in turn")
	require.Equal(t, "Ana {email} Souza ana@example.com 5511987654321 {x}", chat.Render("{nome} {email} {numero} {x}", v))
	for hour, want := range map[int]string{4: "Boa noite", 5: "Bom dia", 11: "Bom dia", 12: "Boa tarde", 17: "Boa tarde", 18: "Boa noite"} {
		require.Equal(t, want, chat.Render("{{ms}}", chat.Variables{At: at(hour)}))
	}
}
