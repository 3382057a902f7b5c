package main_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Bounds of the pages that people read from their beginning. The rules are in docs/writing.md;
// these leave some room above them.
const (
	maxSentenceWords  = 30
	maxParagraphChars = 6 * 120 // six lines as wide as browsers show them
	maxPageWords      = 1600
	maxGlossaryWords  = 2000 // it is looked up, not read
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	linkedText  = regexp.MustCompile(`\[([^\]]*)\]\([^)\s]*\)`)
	listMarker  = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	sentenceEnd = regexp.MustCompile(`[.!?]["')*_]*\s+`)
)

// prosePages returns the pages whose sentences and paragraphs are bounded.
func prosePages(t *testing.T) (pages []string) {
	t.Helper()
	for _, name := range documents(t) {
		switch {
		case strings.HasPrefix(name, "docs/"), name == "README.md", name == "ARCHITECTURE.md", name == "CONTRIBUTING.md", name == "SECURITY.md",
			name == "connectors/README.md", name == "scheduling/README.md", name == "messaging/README.md", name == "clinic/README.md":
			pages = append(pages, name)
		}
	}
	return pages
}

// paragraphs returns the running text of a page, one string for each paragraph and list item:
// without code blocks, tables, headings and the addresses of links.
func paragraphs(page string) (list []string) {
	page = htmlComment.ReplaceAllString(fencedBlock.ReplaceAllString(page, ""), "")
	var current []string
	end := func() {
		if len(current) > 0 {
			list = append(list, linkedText.ReplaceAllString(strings.Join(current, " "), "$1"))
		}
		current = nil
	}
	for _, line := range strings.Split(page, "\n") {
		if text := strings.TrimSpace(line); text == "" || text[0] == '#' || text[0] == '|' {
			end()
			continue
		}
		if marker := listMarker.FindString(line); marker != "" {
			end()
			line = line[len(marker):]
		}
		current = append(current, strings.TrimSpace(line))
	}
	end()
	return list
}

// sentences divides a paragraph. A span of code counts as one word.
func sentences(paragraph string) []string {
	return sentenceEnd.Split(inlineCode.ReplaceAllString(paragraph, "CODE"), -1)
}

// wordsIn counts the words of a sentence: signs alone are none.
func wordsIn(sentence string) (n int) {
	for _, word := range strings.Fields(sentence) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// Sentences and paragraphs are short enough to be read once.
func TestProseIsShort(t *testing.T) {
	t.Parallel()
	var long []string
	for _, name := range prosePages(t) {
		for _, paragraph := range paragraphs(read(t, name)) {
			if utf8.RuneCountInString(paragraph) > maxParagraphChars {
				long = append(long, name+": paragraph: "+paragraph)
			}
			for _, sentence := range sentences(paragraph) {
				if wordsIn(sentence) > maxSentenceWords {
					long = append(long, name+": sentence: "+sentence)
				}
			}
		}
	}
	require.Empty(t, long, "divide these: at most %d words in a sentence, %d characters in a paragraph", maxSentenceWords, maxParagraphChars)
}

// A page of docs is about one topic: what outgrows the bound is two.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		if !strings.HasPrefix(name, "docs/") {
			continue
		}
		bound := maxPageWords
		if path.Base(name) == "glossary.md" {
			bound = maxGlossaryWords
		}
		require.LessOrEqual(t, len(strings.Fields(read(t, name))), bound, "words of %s", name)
	}
}

// What the checks of prose count as a sentence and as a word.
func TestProseIsCounted(t *testing.T) {
	t.Parallel()
	page := "# Title\n\nOne two `three four`. [Five](six.md) ± 7 (eight nine.) Ten\neleven.\n\n- item one\n- item\n  two\n\n| a | b |\n\n```sh\nnot this\n```\n"
	list := paragraphs(page)
	require.Equal(t, []string{"One two `three four`. Five ± 7 (eight nine.) Ten eleven.", "item one", "item two"}, list)
	var counts []int
	for _, sentence := range sentences(list[0]) {
		counts = append(counts, wordsIn(sentence))
	}
	require.Equal(t, []int{3, 4, 2}, counts)
}
