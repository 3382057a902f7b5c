package importfile

import "strings"

// column is the kind of a column.
type column int

const (
	other column = iota
	externalRef
	name
	familyName
	socialName
	mobile
	phone
	landline
	email
	cpf
	birthDate
	status
)

// fields are the API names of what the kinds of columns are used for.
var fields = map[column]string{
	externalRef: "external_id", name: "name", familyName: "family_name", socialName: "social_name", mobile: "phone", phone: "phone", landline: "phone",
	email: "email", cpf: "cpf", birthDate: "birth_date", status: "status",
}

// headings are the known headings of each kind of column, as [normalizeHeading] returns
// them.
var headings = map[column]string{
	externalRef: "externalid externalref id code patientid codigo cod idexterno prontuario nprontuario numerodoprontuario matricula idpaciente" +
		" codigopaciente codigodopaciente",
	name: "name fullname patient patientname firstname givenname nome nomecompleto nomecivil primeironome prenome paciente nomedopaciente nomepaciente" +
		" cliente nomedocliente nomecliente",
	familyName: "sobrenome ultimonome lastname familyname surname",
	socialName: "nomesocial socialname preferredname",
	mobile: "mobile mobilephone cellphone cell whatsapp celular celular1 celular2 celular3 cel cel1 cel2 telefonecelular telcelular" +
		" telefonewhatsapp celularwhatsapp telefonecelularwhatsapp telefonemovel mobile2",
	phone: "phone phone1 phone2 phonenumber telephone telefone telefone1 telefone2 telefone3 fone fone1 fone2 tel tel1 tel2 contato",
	landline: "homephone phonehome workphone phonework landline telefonefixo fixo telefoneresidencial telefonecomercial comercial telfixo" +
		" telresidencial telcomercial fonefixo foneresidencial fonecomercial telefonetrabalho",
	email:     "email mail emailaddress correioeletronico email1 email2 enderecodeemail",
	cpf:       "cpf taxid cpfdopaciente cpfpaciente ncpf cpfn cpfno cpfnumero numerodocpf numerocpf cpfcnpj",
	birthDate: "birthdate dateofbirth dob birthday born datadenascimento datanascimento nascimento dtnascimento dtdenascimento datanasc datadenasc dtnasc nasc aniversario",
	status:    "status situacao active ativo",
}

// columnsByHeading has the kinds of columns by their headings.
var columnsByHeading = func() map[string]column {
	kinds := make(map[string]column)
	for kind, list := range headings {
		for heading := range strings.FieldsSeq(list) {
			kinds[heading] = kind
		}
	}
	return kinds
}()

// Column is a column of a table, and the API name of what it is used for; "" if it is
// ignored.
type Column struct {
	Heading, Field string
}

// Columns returns the columns of a table.
func (h *Header) Columns() []Column {
	columns := make([]Column, len(h.columns))
	for i, kind := range h.columns {
		columns[i] = Column{h.headings[i], fields[kind]}
	}
	return columns
}
