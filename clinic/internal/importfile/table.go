package importfile

import (
	"slices"
	"strings"

	"integrationhub/hub/module/table"
)

// Header is the first line of a table: how its rows are read.
type Header struct {
	separator byte
	columns   []column
	headings  []string // as the file has them
	year      int      // the present one
}

// parseHeader parses the first line of a table.
func parseHeader(line string) (*Header, error) {
	headings, separator := table.SplitHeader(line)
	h := &Header{separator: separator}
	hasName := false
	for _, cell := range headings {
		kind := columnsByHeading[normalizeHeading(cell)]
		hasName = hasName || kind == name
		heading, _ := cleanText(cell)
		h.columns, h.headings = append(h.columns, kind), append(h.headings, heading)
	}
	if !hasName {
		return nil, ErrNoNameColumn
	}
	return h, nil
}

// parseRow returns what the cells of a row say.
func (h *Header) parseRow(cells []string) Row {
	for len(cells) > len(h.columns) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1] // spreadsheets write empty cells that had a value once
	}
	if len(cells) > len(h.columns) {
		return Row{Problem: "has more cells than the first line has columns"}
	}
	r := tableRow{year: h.year}
	for i, cell := range cells {
		text, ok := cleanText(cell)
		if !ok {
			return Row{Problem: "has characters that are no text"}
		}
		if h.hasStrayLineBreak(h.columns[i], cell) {
			return Row{Problem: fields[h.columns[i]] + " has a line break: check the quotation marks"}
		}
		if text != "" {
			r.set(h.columns[i], text)
		}
	}
	return r.finish()
}

// hasStrayLineBreak reports whether a cell that identifies a patient goes over several lines, as
// where a quotation mark is closed in the row of another patient. A name may, if it has no
// separator.
func (h *Header) hasStrayLineBreak(kind column, cell string) bool {
	if kind == other || !strings.Contains(strings.TrimSpace(cell), "\n") {
		return false
	}
	isName := kind == name || kind == familyName || kind == socialName
	return !isName || strings.Contains(cell, string(h.separator))
}

// tableRow is a row of a table while its cells are read.
type tableRow struct {
	Row
	year               int // the present one
	family, socialName string
	phones             []rankedPhone
}

// set stores the text of a cell. Of several columns of one kind, the first that is not
// empty counts; phone numbers are ranked.
func (r *tableRow) set(kind column, text string) {
	if isPlaceholder(kind, text) {
		r.warn(fields[kind], "is a placeholder")
		return
	}
	switch kind {
	case externalRef:
		setIfEmpty(&r.ExternalRef, trimDecimal(text))
	case name:
		setIfEmpty(&r.Name, text)
	case familyName:
		setIfEmpty(&r.family, text)
	case socialName:
		setIfEmpty(&r.socialName, text)
	case mobile, phone, landline:
		text = trimDecimal(text)
		r.phones = append(r.phones, rankedPhone{text, rankPhone(kind, text)})
	case email:
		setIfEmpty(&r.Email, text)
	case cpf:
		setIfEmpty(&r.CPF, padCPF(trimDecimal(text)))
	case birthDate:
		r.setBirthDate(trimDecimal(text))
	case status:
		if value, ok := statusesByText[normalizeHeading(text)]; ok {
			setIfEmpty(&r.Status, value)
		} else {
			r.warn("status", "must be active or inactive")
		}
	}
}

// setBirthDate stores a date of birth, or the year alone.
func (r *tableRow) setBirthDate(text string) {
	date, ok := parseDate(text, r.year)
	switch {
	case ok:
		setIfEmpty(&r.BirthDate, date)
	case isYear(text):
		setIfEmpty(&r.PartialDate, text)
		r.warn("birth_date", "is not a whole date")
	default:
		r.HasUnreadableDate = true
		r.warn("birth_date", "must be like 1980-03-02 or 02/03/1980")
	}
}

// finish returns the row when all of its cells are read.
func (r *tableRow) finish() Row {
	if !hasSuffixWords(r.Name, r.family) {
		r.Name = strings.TrimSpace(r.Name + " " + r.family)
	}
	if r.socialName != "" && r.socialName != r.Name {
		r.CivilName, r.Name = r.Name, r.socialName
	}
	r.Phone, r.OtherPhones = sortPhones(r.phones)
	return r.Row
}

// warn notes that a field was left out.
func (r *Row) warn(field, problem string) {
	if warning := field + " " + problem + ": left out"; field != "" && !slices.Contains(r.Warnings, warning) {
		r.Warnings = append(r.Warnings, warning)
	}
}

var statusesByText = map[string]string{
	"active": active, "ativo": active, "ativa": active, "true": active, "sim": active, "s": active, "yes": active, "y": active, "1": active,
	"inactive": inactive, "inativo": inactive, "inativa": inactive, "false": inactive, "nao": inactive, "n": inactive, "no": inactive, "0": inactive,
}

// normalizeHeading returns a heading in lower case with letters and digits only, without
// accents.
func normalizeHeading(heading string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, table.Fold(heading))
}
