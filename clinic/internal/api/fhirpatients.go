package api

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/brazil"
)

// How long what names a person may be in a search: PostgreSQL refuses longer words and
// more of them, and nobody is called that.
const (
	mostLetters = 200
	mostWords   = 40
)

// private are the parameters that name a person: links end up in logs, and never have them.
var private = []string{"phone", "telecom", "name", "name:exact", "identifier", "birthdate"}

// bounded refuses what is too long to be looked for.
func bounded(used url.Values) error {
	for _, name := range []string{"phone", "telecom", "name", "name:exact", "identifier"} {
		for _, value := range used[name] {
			words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if utf8.RuneCountInString(value) > mostLetters || len(words) > mostWords {
				return misread(name, fmt.Sprintf("must have at most %d letters and %d words", mostLetters, mostWords))
			}
		}
	}
	return nil
}

// sealedQuery writes parameters that name a person for a link.
func (a *API) sealedQuery(at store.Scope) func(url.Values) string {
	return func(used url.Values) string {
		sealed := a.host.Sealer.Seal([]byte(used.Encode()), pageContext(at))
		return url.Values{fhir.ParamPage: {base64.RawURLEncoding.EncodeToString(sealed)}}.Encode()
	}
}

// pageContext binds a sealed search to the data it was made in.
func pageContext(at store.Scope) string {
	return "fhir-page/" + at.Clinic.String() + "/" + string(at.Env)
}

// unsealed opens the parameters of a link.
func (a *API) unsealed(at store.Scope, page string) (url.Values, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(page)
	if err == nil {
		var plain []byte
		if plain, err = a.host.Sealer.Open(sealed, pageContext(at)); err == nil {
			var values url.Values
			if values, err = url.ParseQuery(string(plain)); err == nil {
				return values, nil
			}
		}
	}
	return nil, misread(fhir.ParamPage, "must come from the link of another page")
}

// readPatients reads what searches of patients can ask for.
func (a *API) readPatients(_ kind, f facade, q *store.Search, used url.Values) error {
	if err := bounded(used); err != nil {
		return err
	}
	for _, name := range []string{"phone", "telecom"} {
		for _, value := range used[name] {
			keys, err := phoneKeys(name, value)
			if err != nil {
				return err
			}
			q.PhoneKeys = append(q.PhoneKeys, keys)
		}
	}
	for _, value := range used["name"] {
		q.Names = append(q.Names, texts(value))
	}
	for _, value := range used["name:exact"] {
		q.ExactNames = append(q.ExactNames, texts(value))
	}
	for _, value := range used["identifier"] {
		hashes, err := a.taxIDs(f, value)
		if err != nil {
			return err
		}
		q.CPFHashes = append(q.CPFHashes, hashes)
	}
	for _, value := range used["active"] {
		statuses, err := activities(value)
		if err != nil {
			return err
		}
		q.Statuses = narrowed(q.Statuses, statuses)
	}
	for _, value := range used["birthdate"] {
		if strings.Contains(value, "T") {
			return misread("birthdate", "must be a day, a month or a year: nobody knows at what time")
		}
	}
	var err error
	q.BirthDate, err = spans("birthdate", used, time.UTC)
	return err
}

// texts are the alternatives of a string parameter.
func texts(value string) []string {
	list := fhir.Alternatives(value)
	for i, text := range list {
		list[i] = strings.TrimSpace(fhir.Text(text))
	}
	return list
}

// phoneKeys are the numbers that a parameter may mean.
func phoneKeys(parameter, value string) ([]string, error) {
	keys := []string{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.TokenOf(alternative)
		number := care.FormatE164(brazil.PhoneFromQuery(token.Code))
		switch {
		case token.System == "email" && token.Placed:
			return nil, &fhir.Fault{Parameter: parameter, Message: "must be a phone number: e-mail addresses are not searched", Unsupported: true}
		case number == "":
			return nil, misread(parameter, "must be a phone number of 8 to 15 digits")
		case token.In(fhir.Phones...):
			keys = append(keys, care.PhoneKey(number))
		}
	}
	return keys, nil
}

// taxIDs are what the tax ids that a parameter may mean are found by: patients have no
// other identifiers.
func (a *API) taxIDs(f facade, value string) ([][]byte, error) {
	hashes := [][]byte{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.TokenOf(alternative)
		if token.Code == "" {
			return nil, &fhir.Fault{Parameter: "identifier", Message: "must have a value: whoever has any is not searched", Unsupported: true}
		}
		if digits := care.ParseCPF(token.Code); digits != "" && token.In(fhir.SystemCPF) {
			hashes = append(hashes, a.store.CPFHash(f.at, digits))
		}
	}
	return hashes, nil
}

// activities are the statuses of patients who are active, or who are not.
func activities(value string) ([]string, error) {
	statuses := []string{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.TokenOf(alternative)
		ours, known := map[string][]string{"true": {store.Active}, "false": {store.Inactive, store.Anonymized}}[token.Code]
		if !known {
			return nil, misread("active", "must be true or false")
		}
		if token.System == "" || token.In(fhir.Booleans...) {
			statuses = append(statuses, ours...)
		}
	}
	return statuses, nil
}
