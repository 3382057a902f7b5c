package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"integrationhub/cmd/hub/internal/terminal"

	"golang.org/x/term"
)

// Values of --output.
const (
	outputTable = "table"
	outputJSON  = "json"
)

// checkOutput checks --output; asJSON is --json.
func (a *app) checkOutput(asJSON bool) error {
	if asJSON {
		a.output = outputJSON
	}
	if a.output != outputTable && a.output != outputJSON {
		return usagef("--output is table or json, not %q", a.output)
	}
	return nil
}

func (a *app) json() bool { return a.output == outputJSON }

// printRaw prints a response of the API, indented.
func (a *app) printRaw(raw json.RawMessage) error {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return fmt.Errorf("indenting the response: %w", err)
	}
	a.print("%s", visibleJSON(out.String()))
	return nil
}

// visibleJSON escapes the control characters that JSON allows in strings: a
// terminal may obey them.
func visibleJSON(text string) string {
	control := func(r rune) bool { return r >= 0x7f && r <= 0x9f }
	if !strings.ContainsFunc(text, control) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if control(r) {
			_, _ = fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// printValue prints a value as JSON.
func (a *app) printValue(value any) error {
	raw, err := marshal(value)
	if err != nil {
		return err
	}
	return a.printRaw(raw)
}

// printLine prints a value as one line of JSON.
func (a *app) printLine(value any) error {
	raw, err := marshal(value)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	a.print("%s", visibleJSON(out.String()))
	return nil
}

// marshal encodes a value without touching <, > and &.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return out.Bytes(), nil
}

// column is one column of a table.
type column struct {
	title string
	right bool                // aligned to the right: numbers
	paint func(string) colour // nil: plain
	minor bool                // left out of a terminal too narrow for every column
}

// narrowest is the minimum width of a shortened column, in characters.
const narrowest = 8

// table prints rows under titles, aligned; on a terminal it fits them to its width.
func (a *app) table(columns []column, rows [][]string) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.title)
		for _, row := range rows {
			row[i] = terminal.Printable(row[i])
			widths[i] = max(widths[i], runeCount(row[i]))
		}
	}
	if width, _, err := term.GetSize(int(a.out.Fd())); err == nil && width > 0 {
		columns, widths, rows = dropMinor(columns, widths, rows, width)
		shrink(widths, width)
	}
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = strings.ToUpper(c.title)
	}
	a.tableRow(columns, widths, titles, func(int) colour { return bold })
	for _, row := range rows {
		a.tableRow(columns, widths, row, func(i int) colour {
			if columns[i].paint == nil {
				return plain
			}
			return columns[i].paint(row[i])
		})
	}
}

func (a *app) tableRow(columns []column, widths []int, cells []string, paint func(int) colour) {
	var line strings.Builder
	for i, text := range cells {
		text = shorten(text, widths[i])
		gap := strings.Repeat(" ", widths[i]-runeCount(text))
		painted := a.paint(paint(i), text)
		switch {
		case columns[i].right:
			line.WriteString(gap + painted)
		case i == len(cells)-1:
			line.WriteString(painted)
		default:
			line.WriteString(painted + gap)
		}
		if i < len(cells)-1 {
			line.WriteString("  ")
		}
	}
	a.print("%s", line.String())
}

// dropMinor leaves out minor columns, the last first, until the others fit into width with
// the fewest characters each may have.
func dropMinor(columns []column, widths []int, rows [][]string, width int) ([]column, []int, [][]string) {
	for {
		least, last := 2*(len(columns)-1), -1
		for i, c := range columns {
			least += min(widths[i], narrowest)
			if c.minor {
				last = i
			}
		}
		if least <= width || last < 0 {
			return columns, widths, rows
		}
		columns, widths = slices.Delete(slices.Clone(columns), last, last+1), slices.Delete(widths, last, last+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], last, last+1)
		}
	}
}

// shrink narrows the widest columns until the row fits into width.
func shrink(widths []int, width int) {
	for {
		total, widest := 2*(len(widths)-1), 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= width || widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

func shorten(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

func runeCount(text string) int { return len([]rune(text)) }

// fields prints names and values, a line each; empty values are left out.
func (a *app) fields(pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, len(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			a.print("%-*s  %s", width, pairs[i], terminal.Printable(pairs[i+1]))
		}
	}
}

// colour is an SGR sequence's number; plain is none.
type colour int

const (
	plain  colour = 0
	bold   colour = 1
	red    colour = 31
	green  colour = 32
	yellow colour = 33
)

// paint colours text for stdout.
func (a *app) paint(c colour, text string) string { return a.paintFor(a.out, c, text) }

// errPaint colours text for stderr.
func (a *app) errPaint(c colour, text string) string { return a.paintFor(a.err, c, text) }

// paintFor colours text where the file is a terminal and NO_COLOR is not set.
func (a *app) paintFor(file *os.File, c colour, text string) string {
	if c == plain || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// statusColour returns the colour of a status.
func statusColour(status string) colour {
	switch status {
	case "delivered", "done", "active":
		return green
	case "failed", "revoked", "error":
		return red
	case "parked", "cancelled", "disabled", "inactive":
		return yellow
	}
	return plain
}

// codeColour returns the colour of an HTTP status.
func codeColour(code string) colour {
	switch {
	case strings.HasPrefix(code, "2"):
		return green
	case code == "" || code == "-":
		return plain
	}
	return red
}

// clock formats a time in UTC, to the second; "-" for the zero time.
func clock(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

func clockOf(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return clock(*at)
}

// millis formats milliseconds.
func millis(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// orDash returns "-" for "".
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// codeText formats an HTTP status; "-" for 0, no response.
func codeText(code int) string {
	if code == 0 {
		return "-"
	}
	return strconv.Itoa(code)
}
