package importfile

import (
	"bytes"
	"strings"
	"time"
)

// column is the kind of a column.
type column int

const (
	other column = iota
	externalRef
	name
	phone
	email
	cpf
	birthDate
	status
)

// columnsByHeading has the columns by their headings, as [normalizeHeading] returns them.
var columnsByHeading = map[string]column{
	"externalid": externalRef, "externalref": externalRef, "id": externalRef, "code": externalRef, "patientid": externalRef,
	"codigo": externalRef, "cod": externalRef, "idexterno": externalRef, "prontuario": externalRef, "nprontuario": externalRef, "numerodoprontuario": externalRef, "matricula": externalRef, "idpaciente": externalRef, "codigopaciente": externalRef, "codigodopaciente": externalRef,
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

// Header is the first line of a table: how its rows are read.
type Header struct {
	separator byte
	columns   []column
}

const separators = ",;\t|"

// parseHeader parses the first line of a table.
func parseHeader(line []byte) (*Header, error) {
	h := &Header{separator: separatorOf(line)}
	hasName := false
	for _, cell := range h.splitCells(line) {
		kind := columnsByHeading[normalizeHeading(cell)]
		hasName = hasName || kind == name
		h.columns = append(h.columns, kind)
	}
	if !hasName {
		return nil, ErrNoNameColumn
	}
	return h, nil
}

// separatorOf returns the separator that a header has most of, outside quotation marks.
func separatorOf(header []byte) byte {
	var counts [len(separators)]int
	quoted := false
	for _, c := range header {
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

// splitCells splits a line into its cells (RFC 4180). A quotation mark inside a cell that
// does not begin with one is part of the text.
func (h *Header) splitCells(line []byte) []string {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	var cells []string
	var cell []byte
	quoted, cellBegan := false, false
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
		case c == '"' && !cellBegan:
			quoted, cellBegan = true, true
		case c == h.separator:
			cells = append(cells, string(cell))
			cell, cellBegan = cell[:0], false
		default:
			cell, cellBegan = append(cell, c), true
		}
	}
	return append(cells, string(cell))
}

// parseRow parses a line of a table.
func (h *Header) parseRow(line []byte) (row Row, blank bool) {
	cells := h.splitCells(line)
	blank = true
	for _, cell := range cells {
		blank = blank && strings.TrimSpace(cell) == ""
	}
	if blank {
		return row, true
	}
	for len(cells) > len(h.columns) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1] // spreadsheets write empty cells that had a value once
	}
	if len(cells) > len(h.columns) {
		return Row{Problem: "has more cells than the first line has columns"}, false
	}
	for i, cell := range cells {
		text, ok := cleanText(cell)
		if !ok {
			return Row{Problem: "has characters that are no text"}, false
		}
		if text == "" {
			continue
		}
		if problem := row.set(h.columns[i], text); problem != "" {
			return Row{Problem: problem}, false
		}
	}
	return row, false
}

// set stores the text of a cell. Of several columns of one kind, the first that is not
// empty counts. problem is for users, "" if there is none.
func (r *Row) set(kind column, text string) (problem string) {
	switch kind {
	case externalRef:
		setIfEmpty(&r.ExternalRef, text)
	case name:
		setIfEmpty(&r.Name, text)
	case phone:
		setIfEmpty(&r.Phone, text)
	case email:
		setIfEmpty(&r.Email, text)
	case cpf:
		setIfEmpty(&r.CPF, padCPF(text))
	case birthDate:
		date, ok := parseDate(text)
		if !ok {
			return "birth_date must be like 1980-03-02 or 02/03/1980"
		}
		setIfEmpty(&r.BirthDate, date)
	case status:
		value, ok := statusesByText[normalizeHeading(text)]
		if !ok {
			return "status must be active or inactive"
		}
		setIfEmpty(&r.Status, value)
	}
	return ""
}

var statusesByText = map[string]string{
	"active": active, "ativo": active, "ativa": active, "true": active, "sim": active, "s": active, "yes": active, "y": active, "1": active,
	"inactive": inactive, "inativo": inactive, "inativa": inactive, "false": inactive, "nao": inactive, "n": inactive, "no": inactive, "0": inactive,
}

// padCPF restores the leading zeros that spreadsheets remove from a CPF.
func padCPF(digits string) string {
	const length, minLength = 11, 8
	if len(digits) < minLength || len(digits) >= length || strings.Trim(digits, "0123456789") != "" {
		return digits
	}
	return strings.Repeat("0", length-len(digits)) + digits
}

// parseDate parses a date such as 1980-03-02, 02/03/1980, 2/3/1980, 02-03-1980 or
// 02.03.1980, optionally with a time behind it as spreadsheets write it, and returns it as
// YYYY-MM-DD.
func parseDate(text string) (date string, ok bool) {
	text, _, _ = strings.Cut(text, " ")
	text, _, _ = strings.Cut(text, "T")
	for _, layout := range []string{time.DateOnly, "2/1/2006", "2-1-2006", "2.1.2006"} {
		if day, err := time.Parse(layout, text); err == nil && day.Year() > 0 {
			return day.Format(time.DateOnly), true
		}
	}
	return "", false
}

// accents removes the accents that occur in headings.
var accents = strings.NewReplacer("á", "a", "à", "a", "â", "a", "ã", "a", "é", "e", "ê", "e", "í", "i", "ó", "o", "ô", "o", "õ", "o", "ú", "u", "ü", "u", "ç", "c")

// normalizeHeading returns a heading in lower case with letters and digits only, without
// accents.
func normalizeHeading(heading string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, accents.Replace(strings.ToLower(heading)))
}
