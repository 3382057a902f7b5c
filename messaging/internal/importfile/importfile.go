// Package importfile reads tables of contacts, as spreadsheets write them (CSV), row by row:
// the memory that it takes does not depend on the file's length.
package importfile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"integrationhub/hub/module/table"
	"integrationhub/messaging/internal/chat"
)

// Row is what a file says about one contact; "" is what it does not say.
type Row struct {
	Line    int    `json:"line"` // where it begins; the first line is 1
	Name    string `json:"name,omitempty"`
	Number  string `json:"number,omitempty"` // digits
	Email   string `json:"email,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be imported, for people and without its values
	Warning string `json:"warning,omitempty"` // what of it is left out
}

// Column is a column of a table.
type Column struct {
	Heading string
	Field   string // name, number, email, or "" for a column that is ignored
}

// FormatError says why a file cannot be read, and what to do, for people.
type FormatError string

// Error implements error.
func (e FormatError) Error() string { return string(e) }

// What can be wrong with a file.
const (
	ErrEmpty       = FormatError("holds no contacts")
	ErrNoCSV       = FormatError("is no CSV file: save the sheet as CSV and send that")
	ErrManyColumns = FormatError("must have at most 500 columns: send those that describe contacts")
	ErrNoNumber    = FormatError("must have a column called number (or telefone): its first line has to name the columns, such as name;number;email")
)

const (
	maxRow    = 16 << 10  // bytes of a row
	maxHeader = 256 << 10 // bytes of the line that names the columns
	maxName   = 120
	maxEmail  = 254
)

// fieldsByHeading are the names of columns, as [normalize] returns them.
var fieldsByHeading = map[string]string{
	"name": "name", "fullname": "name", "contact": "name", "contactname": "name", "customer": "name",
	"nome": "name", "nomecompleto": "name", "contato": "name", "cliente": "name", "nomedocliente": "name", "paciente": "name", "nomedocontato": "name",
	"number": "number", "phone": "number", "phonenumber": "number", "mobile": "number", "cellphone": "number", "telephone": "number", "whatsapp": "number",
	"numero": "number", "telefone": "number", "celular": "number", "fone": "number", "tel": "number", "cel": "number", "telefonecelular": "number", "telefonewhatsapp": "number",
	"email": "email", "mail": "email", "emailaddress": "email", "correioeletronico": "email", "enderecodeemail": "email",
}

// placeholders are cells that stand for nothing, as [normalize] returns them.
var placeholders = map[string]bool{
	"": true, "na": true, "nd": true, "null": true, "none": true, "nan": true, "x": true, "xx": true, "xxx": true, "unknown": true, "semnome": true, "sememail": true,
	"semtelefone": true, "semnumero": true, "naoinformado": true, "naotem": true, "naopossui": true, "naoconsta": true, "desconhecido": true, "teste": true,
}

// sheet is the form of a table.
type sheet struct {
	separator   byte
	columns     []Column
	countryCode string
}

// parseHeader sets the columns from the line that names them.
func (t *sheet) parseHeader(line string) error {
	headings, separator := table.SplitHeader(line)
	if len(headings) > table.MaxColumns {
		return ErrManyColumns
	}
	t.separator = separator
	hasNumber := false
	for _, heading := range headings {
		field := fieldsByHeading[normalize(heading)]
		hasNumber = hasNumber || field == "number"
		t.columns = append(t.columns, Column{Heading: chat.Truncate(strings.TrimSpace(heading), 200), Field: field})
	}
	if !hasNumber {
		return ErrNoNumber
	}
	return nil
}

// setCells sets the row to what its cells say. Of several columns of one field, the first
// that is not empty counts.
func (t *sheet) setCells(row *Row, cells []string) {
	var dropped placeholderCells
	for i, cell := range cells {
		if i >= len(t.columns) {
			if strings.TrimSpace(cell) != "" {
				row.Problem = "has more cells than the first line has columns"
			}
			continue
		}
		field := t.columns[i].Field
		isName := field == "name" && !strings.Contains(cell, string(t.separator))
		if field != "" && !isName && strings.Contains(strings.TrimSpace(cell), "\n") { // closed in the row of another contact
			*row = Row{Line: row.Line, Problem: field + " has a line break: check the quotation marks"}
			return
		}
		text := strings.Join(strings.Fields(strings.TrimPrefix(cell, "'")), " ")
		if placeholders[normalize(text)] && !strings.HasPrefix(text, "+") {
			dropped.note(field, text)
			continue
		}
		switch field {
		case "name":
			setIfEmpty(&row.Name, text)
		case "number":
			setIfEmpty(&row.Number, text)
		case "email":
			setIfEmpty(&row.Email, text)
		}
	}
	if row.Problem == "" {
		t.check(row, dropped)
	}
}

// placeholderCells says which fields of a row have placeholders.
type placeholderCells struct{ name, email bool }

// note takes a cell that stands for nothing; one without text is no placeholder.
func (p *placeholderCells) note(field, text string) {
	p.name = p.name || field == "name" && text != ""
	p.email = p.email || field == "email" && text != ""
}

// check normalizes the number and checks what the row says. Placeholders are left out already.
func (t *sheet) check(row *Row, dropped placeholderCells) {
	if row.Number == "" {
		row.Problem = "has no number"
		return
	}
	number, ok := t.cleanNumber(row.Number)
	switch {
	case !ok:
		*row = Row{Line: row.Line, Problem: "number must be digits with country code"}
		return
	case strings.ContainsFunc(row.Name+row.Email, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }):
		*row = Row{Line: row.Line, Problem: "has characters that are no text"}
		return
	case utf8.RuneCountInString(row.Name) > maxName:
		row.Name = chat.Truncate(row.Name, maxName)
		row.warn("name is longer than 120 characters and was cut")
	}
	row.Number = number
	if dropped.name && row.Name == "" {
		row.warn("name is a placeholder and was left out")
	}
	if dropped.email && row.Email == "" {
		row.warn("email is a placeholder and was left out")
	}
	local, domain, _ := strings.Cut(row.Email, "@")
	if row.Email != "" && (local == "" || !strings.Contains(strings.Trim(domain, "."), ".") || strings.ContainsAny(row.Email, " ,;<>\"") || strings.Contains(domain, "@") || len(row.Email) > maxEmail) {
		row.Email = ""
		row.warn("email is no e-mail address and was left out")
	}
}

// warn adds a warning to the row's.
func (r *Row) warn(text string) {
	if r.Warning != "" {
		text = r.Warning + "; " + text
	}
	r.Warning = text
}

// cleanNumber returns the digits of a number as people write them.
func (t *sheet) cleanNumber(text string) (number string, ok bool) {
	hasPlus := strings.HasPrefix(text, "+")
	var digits strings.Builder
	for _, r := range strings.TrimPrefix(text, "+") {
		switch {
		case r >= '0' && r <= '9':
			digits.WriteRune(r)
		case !strings.ContainsRune(" ()-./\u00a0", r):
			return "", false
		}
	}
	number = digits.String()
	if number != "" && strings.Trim(number, number[:1]) == "" { // 00000000, 99999999
		return "", false
	}
	if !hasPlus && len(number) <= 11 && t.countryCode != "" {
		number = t.countryCode + strings.TrimLeft(number, "0")
	}
	return number, chat.IsNumber(number)
}

func setIfEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// normalize returns a text in lower case with letters and digits only, without accents.
func normalize(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, table.Fold(text))
}
