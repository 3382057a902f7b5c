package importfile

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// column is what stands in a column of a table.
type column int

const (
	other column = iota
	ref
	name
	phone
	email
	cpf
	birthDate
	status
)

// headings are the names that columns go by, as [plain] writes them.
var headings = map[string]column{
	"externalid": ref, "externalref": ref, "id": ref, "code": ref, "patientid": ref,
	"codigo": ref, "cod": ref, "idexterno": ref, "prontuario": ref, "nprontuario": ref, "numerodoprontuario": ref, "matricula": ref, "idpaciente": ref, "codigopaciente": ref, "codigodopaciente": ref,
	"name": name, "fullname": name, "patient": name, "patientname": name,
	"nome": name, "nomecompleto": name, "paciente": name, "nomedopaciente": name, "nomepaciente": name, "cliente": name, "nomedocliente": name, "nomecliente": name,
	"phone": phone, "phonenumber": phone, "mobile": phone, "mobilephone": phone, "cellphone": phone, "telephone": phone, "whatsapp": phone,
	"telefone": phone, "celular": phone, "fone": phone, "tel": phone, "cel": phone, "telefonecelular": phone, "telcelular": phone, "telefone1": phone, "celular1": phone,
	"telefonewhatsapp": phone, "celularwhatsapp": phone, "telefonecelularwhatsapp": phone, "telefonefixo": phone, "telefoneresidencial": phone, "contato": phone,
	"email": email, "mail": email, "emailaddress": email, "correioeletronico": email, "email1": email, "enderecodeemail": email,
	"cpf": cpf, "taxid": cpf, "cpfdopaciente": cpf, "cpfpaciente": cpf, "ncpf": cpf, "numerodocpf": cpf, "cpfcnpj": cpf,
	"birthdate": birthDate, "dateofbirth": birthDate, "dob": birthDate, "birthday": birthDate, "born": birthDate,
	"datadenascimento": birthDate, "datanascimento": birthDate, "nascimento": birthDate, "dtnascimento": birthDate, "dtdenascimento": birthDate, "datanasc": birthDate, "datadenasc": birthDate, "dtnasc": birthDate, "nasc": birthDate, "aniversario": birthDate,
	"status": status, "situacao": status, "active": status, "ativo": status,
}

// Table is how a table is read: what its first line says.
type Table struct {
	separator byte
	columns   []column
}

const separators = ",;\t|"

// ReadHead reads the first line of a table and tells where the rows begin. Errors:
// [ErrNoHead], [ErrNoName], and those of the file.
func ReadHead(in io.Reader) (*Table, Position, error) {
	first := &Table{separator: ','}
	r := Open(in, Start, first)
	raw, err := r.line()
	if err == nil && bytes.HasPrefix(bytes.ToLower(raw), []byte("sep=")) { // Excel's own word for it
		raw, err = r.line()
	}
	for err == nil && len(bytes.Trim(raw, separators+" \r\n")) == 0 { // sheets that begin further down
		raw, err = r.line()
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errTooLong):
		return nil, Start, ErrNoHead
	case err != nil:
		return nil, Start, err
	}
	t := &Table{separator: separatorOf(raw)}
	named := false
	for _, cell := range t.cells(raw) {
		kind := headings[plain(cell)]
		named = named || kind == name
		t.columns = append(t.columns, kind)
	}
	if !named {
		return nil, Start, ErrNoName
	}
	return t, r.Position(), nil
}

// separatorOf is what a head has most of, outside quotation marks.
func separatorOf(head []byte) byte {
	var counts [len(separators)]int
	quoted := false
	for _, c := range head {
		if c == '"' {
			quoted = !quoted
		}
		if i := strings.IndexByte(separators, c); i >= 0 && !quoted {
			counts[i]++
		}
	}
	best := 0
	for i, count := range counts {
		if count > counts[best] {
			best = i
		}
	}
	return separators[best]
}

// cells takes a line apart (RFC 4180). A quotation mark inside a cell that did not
// begin with one stands for itself.
func (t *Table) cells(line []byte) []string {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	var list []string
	var cell []byte
	quoted, began := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '"' && i+1 < len(line) && line[i+1] == '"':
			cell = append(cell, '"')
			i++
		case quoted && c == '"':
			quoted = false
		case quoted:
			cell = append(cell, c)
		case c == '"' && !began:
			quoted, began = true, true
		case c == t.separator:
			list = append(list, string(cell))
			cell, began = cell[:0], false
		default:
			cell, began = append(cell, c), true
		}
	}
	return append(list, string(cell))
}

// row reads a line of a table.
func (t *Table) row(line []byte) (row Row, blank bool) {
	cells := t.cells(line)
	blank = true
	for _, cell := range cells {
		blank = blank && strings.TrimSpace(cell) == ""
	}
	if blank {
		return row, true
	}
	for len(cells) > len(t.columns) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1] // spreadsheets write cells that once held something
	}
	if len(cells) > len(t.columns) {
		return Row{Problem: "has more cells than the first line has columns"}, false
	}
	for i, cell := range cells {
		text, ok := clean(cell)
		if !ok {
			return Row{Problem: "has characters that are no text"}, false
		}
		if text == "" {
			continue
		}
		if problem := row.set(t.columns[i], text); problem != "" {
			return Row{Problem: problem}, false
		}
	}
	return row, false
}

// set takes over a cell. Of several columns for one thing the first that is not
// empty counts.
func (r *Row) set(kind column, text string) (problem string) {
	switch kind {
	case ref:
		put(&r.Ref, text)
	case name:
		put(&r.Name, text)
	case phone:
		put(&r.Phone, text)
	case email:
		put(&r.Email, text)
	case cpf:
		put(&r.CPF, leadingZeros(text))
	case birthDate:
		day, ok := date(text)
		if !ok {
			return "birth_date must be like 1980-03-02 or 02/03/1980"
		}
		put(&r.BirthDate, day)
	case status:
		known, ok := statuses[plain(text)]
		if !ok {
			return "status must be active or inactive"
		}
		put(&r.Status, known)
	}
	return ""
}

func put(where *string, text string) {
	if *where == "" {
		*where = text
	}
}

// Statuses of patients.
const (
	active   = "active"
	inactive = "inactive"
)

var statuses = map[string]string{
	"active": active, "ativo": active, "ativa": active, "true": active, "sim": active, "s": active, "yes": active, "y": active, "1": active,
	"inactive": inactive, "inativo": inactive, "inativa": inactive, "false": inactive, "nao": inactive, "n": inactive, "no": inactive, "0": inactive,
}

// leadingZeros gives a CPF back the zeros that spreadsheets take from numbers.
func leadingZeros(digits string) string {
	const whole, shortest = 11, 8
	if len(digits) < shortest || len(digits) >= whole || strings.Trim(digits, "0123456789") != "" {
		return digits
	}
	return strings.Repeat("0", whole-len(digits)) + digits
}

// date reads a day: 1980-03-02, 02/03/1980, 2/3/1980, 02-03-1980 or 02.03.1980, also with
// a time behind it, as spreadsheets write it.
func date(text string) (day string, ok bool) {
	text, _, _ = strings.Cut(text, " ")
	text, _, _ = strings.Cut(text, "T")
	for _, layout := range []string{time.DateOnly, "2/1/2006", "2-1-2006", "2.1.2006"} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 {
			return at.Format(time.DateOnly), true
		}
	}
	return "", false
}

// clean makes a text fit for one line: spaces and line ends become single spaces. ok
// is false where there is something that no text has.
func clean(s string) (text string, ok bool) {
	if !utf8.ValidString(s) {
		return "", false
	}
	for _, c := range s {
		if unicode.IsControl(c) && !unicode.IsSpace(c) || c == unicode.ReplacementChar {
			return "", false
		}
	}
	// A spreadsheet's sign that what follows is a text, no formula.
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte("=+-@\t", s[1]) >= 0 {
		s = s[1:]
	}
	return strings.Join(strings.Fields(s), " "), true
}

// folded are letters without their accents, as far as headings in use have any.
var folded = strings.NewReplacer("á", "a", "à", "a", "â", "a", "ã", "a", "é", "e", "ê", "e", "í", "i", "ó", "o", "ô", "o", "õ", "o", "ú", "u", "ü", "u", "ç", "c")

// plain is a heading without case, accents and whatever is no letter or digit.
func plain(heading string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, folded.Replace(strings.ToLower(heading)))
}
