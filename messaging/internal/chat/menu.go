package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"integrationhub/hub/module/table"
)

// MenuOption is an entry of a queue's menu. Options below an option are the next menu.
type MenuOption struct {
	ID       int    `json:"id" minimum:"1" maximum:"1000" required:"false" doc:"Unique in the queue; absent: the next free one" example:"1"`
	Title    string `json:"title" minLength:"1" maxLength:"60" doc:"Shown in the menu" example:"Opening hours"`
	Message  string `json:"message" maxLength:"4096" required:"false" doc:"Sent when the option is chosen; empty: none" example:"We are open from 8 to 18."`
	Option   string `json:"option" maxLength:"10" required:"false" doc:"What the contact answers; absent: its place in the menu" example:"1"`
	Action   string `json:"action,omitempty" enum:"book" doc:"book: the contact books an appointment at the connected scheduling product, by menus of services and free times; absent: none" example:"book"`
	Service  string `json:"service,omitempty" maxLength:"200" doc:"With book: name or id of the service; absent: the contact chooses" example:"Haircut"`
	ParentID *int   `json:"parentId" minimum:"1" maximum:"1000" required:"false" doc:"Option whose menu it belongs to; null: the queue's first menu"`
}

// ActionBook is the action of a menu option by which contacts book appointments.
const ActionBook = "book"

// Bounds of menus.
const (
	maxMenuService = 200
	MaxMenuOptions = 100 // of a queue
	maxMenuOption  = 1000
	maxMenuTitle   = 60
	maxMenuMessage = 4096
	maxMenuKey     = 10
)

// NormalizeMenu returns options with their ids and answers filled in, or the reason why they
// are not valid, for people. A parent stands before its options.
func NormalizeMenu(options []MenuOption) (normalized []MenuOption, problem string) {
	if len(options) > MaxMenuOptions {
		return nil, "must have at most 100 entries"
	}
	used := make(map[int]bool)
	for _, option := range options {
		if option.ID != 0 && used[option.ID] {
			return nil, "entries must have different ids"
		}
		used[option.ID] = true
	}
	known := make(map[int]bool)
	normalized = make([]MenuOption, 0, len(options))
	for _, option := range options {
		for next := 1; option.ID == 0; next++ {
			if !used[next] {
				option.ID, used[next] = next, true
			}
		}
		option.Title, option.Option = strings.TrimSpace(option.Title), strings.TrimSpace(option.Option)
		siblings := OptionsUnder(normalized, option.ParentID)
		if option.Option == "" {
			option.Option = strconv.Itoa(len(siblings) + 1)
		}
		switch {
		case option.ID < 1 || option.ID > maxMenuOption:
			return nil, "id must be from 1 to 1000"
		case option.Title == "" || len([]rune(option.Title)) > maxMenuTitle:
			return nil, "title must have 1 to 60 characters"
		case len([]rune(option.Message)) > maxMenuMessage:
			return nil, "message must have at most 4096 characters"
		case len([]rune(option.Option)) > maxMenuKey:
			return nil, "option must have at most 10 characters"
		case option.Action != "" && option.Action != ActionBook:
			return nil, "action must be book"
		case len([]rune(option.Service)) > maxMenuService || option.Service != "" && option.Action != ActionBook:
			return nil, "service must have at most 200 characters, and needs the action book"
		case option.ParentID != nil && !known[*option.ParentID]:
			return nil, "parentId must be the id of an entry before it"
		case slices.ContainsFunc(siblings, func(s MenuOption) bool { return strings.EqualFold(s.Option, option.Option) }):
			return nil, "entries of a menu must have different options"
		}
		known[option.ID] = true
		normalized = append(normalized, option)
	}
	return normalized, ""
}

// OptionsUnder returns the options of one menu: those below an option, or those of the
// queue's first menu for nil.
func OptionsUnder(options []MenuOption, parent *int) []MenuOption {
	var menu []MenuOption
	for _, option := range options {
		if option.ParentID == nil && parent == nil || option.ParentID != nil && parent != nil && *option.ParentID == *parent {
			menu = append(menu, option)
		}
	}
	return menu
}

// FormatMenu returns a text with a menu below it.
func FormatMenu(text string, menu []MenuOption) string {
	var b strings.Builder
	b.WriteString(text)
	if text != "" && len(menu) > 0 {
		b.WriteString("\n\n")
	}
	for i, option := range menu {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s - %s", option.Option, option.Title)
	}
	return b.String()
}

// ChooseOption returns the option of a menu that an answer chooses: by its key, alone or with
// its title, or by its title.
func ChooseOption(menu []MenuOption, answer string) (chosen MenuOption, ok bool) {
	answer = strings.Trim(strings.TrimSpace(answer), ".)")
	for _, option := range menu {
		for _, accepted := range []string{option.Option, option.Title, option.Option + " - " + option.Title} {
			if strings.EqualFold(answer, accepted) {
				return option, true
			}
		}
	}
	return chosen, false
}

// ParseRating returns the rating that a message is: a number from 1 to 5 and nothing else, but for
// punctuation, the signs of an emoji, a zero before it, and the word "nota".
func ParseRating(text string) (rating int, ok bool) {
	isAround := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".!,;:()*_\"'…\ufe0f\u20e3", r) }
	text = strings.TrimFunc(strings.ToLower(text), isAround)
	if after, isNamed := strings.CutPrefix(text, "nota"); isNamed {
		text = strings.TrimLeftFunc(after, isAround)
	}
	if text = strings.TrimPrefix(text, "0"); len(text) != 1 || text[0] < '1' || text[0] > '5' {
		return 0, false
	}
	return int(text[0] - '0'), true
}

// optInWords undo an opt-out.
var optInWords = []string{"START", "VOLTAR"}

// ConsentOf returns the consent that a message states: [ConsentOptedOut] for one of the
// company's words, [ConsentOptedIn] for one that undoes it, "" for any other text.
func ConsentOf(text string, optOutWords []string) string {
	word := foldWord(text)
	isWord := func(other string) bool { return foldWord(other) == word }
	switch {
	case word == "":
	case slices.ContainsFunc(optOutWords, isWord):
		return ConsentOptedOut
	case slices.ContainsFunc(optInWords, isWord):
		return ConsentOptedIn
	}
	return ""
}

// foldWord returns a word as it is compared: without accents, case, surrounding punctuation
// and repeated spaces, however its characters are composed.
func foldWord(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r) { // accents of their own, and invisible characters
			return -1
		}
		return r
	}, text)
	isBeside := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return table.Fold(strings.Join(strings.Fields(strings.TrimFunc(text, isBeside)), " "))
}

// Variables are what texts to contacts may name.
type Variables struct {
	Name, Email, Number string
	Protocol            string    // of the ticket; "" = none
	At                  time.Time // of the company's own clock
}

// Render returns a text with its variables replaced: {nome}, {email} and {numero};
// {{name}}, {{firstName}}, {{ms}} (good morning, afternoon or evening), {{protocol}} and
// {{hora}}.
func Render(text string, v Variables) string {
	first, _, _ := strings.Cut(strings.TrimSpace(v.Name), " ")
	return strings.NewReplacer(
		"{{name}}", v.Name, "{{firstName}}", first, "{{ms}}", salutation(v.At), "{{protocol}}", v.Protocol, "{{hora}}", v.At.Format("15:04"),
		"{nome}", v.Name, "{email}", v.Email, "{numero}", v.Number,
	).Replace(text)
}

// salutation returns what contacts are greeted with at a time of the day.
func salutation(at time.Time) string {
	switch hour := at.Hour(); {
	case hour >= 5 && hour < 12:
		return "Bom dia"
	case hour >= 12 && hour < 18:
		return "Boa tarde"
	}
	return "Boa noite"
}
