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
	maxLetters = 200
	maxWords   = 40
)

// personParameters are the parameters that name a person: links end up in logs, and never have them.
var personParameters = []string{"phone", "telecom", "name", "name:exact", "identifier", "birthdate"}

// checkSearchLengths refuses what is too long to be looked for.
func checkSearchLengths(params url.Values) error {
	for _, name := range []string{"phone", "telecom", "name", "name:exact", "identifier"} {
		for _, value := range params[name] {
			words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if utf8.RuneCountInString(value) > maxLetters || len(words) > maxWords {
				return invalidParameter(name, fmt.Sprintf("must have at most %d letters and %d words", maxLetters, maxWords))
			}
		}
	}
	return nil
}

// sealQuery writes parameters that name a person for a link.
func (a *API) sealQuery(scope store.Scope) func(url.Values) string {
	return func(params url.Values) string {
		sealed := a.host.Sealer.Seal([]byte(params.Encode()), pageContext(scope))
		return url.Values{fhir.ParamPage: {base64.RawURLEncoding.EncodeToString(sealed)}}.Encode()
	}
}

// pageContext binds a sealed search to the data it was made in.
func pageContext(scope store.Scope) string {
	return "fhir-page/" + scope.Clinic.String() + "/" + string(scope.Env)
}

// openQuery opens the parameters of a link.
func (a *API) openQuery(scope store.Scope, page string) (url.Values, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(page)
	if err == nil {
		var plain []byte
		if plain, err = a.host.Sealer.Open(sealed, pageContext(scope)); err == nil {
			var values url.Values
			if values, err = url.ParseQuery(string(plain)); err == nil {
				return values, nil
			}
		}
	}
	return nil, invalidParameter(fhir.ParamPage, "must come from the link of another page")
}

// parsePatientFilter reads what searches of patients can ask for.
func (a *API) parsePatientFilter(_ resourceType, f fhirView, q *store.ResourceFilter, params url.Values) error {
	if err := checkSearchLengths(params); err != nil {
		return err
	}
	for _, name := range []string{"phone", "telecom"} {
		for _, value := range params[name] {
			keys, err := phoneKeys(name, value)
			if err != nil {
				return err
			}
			q.PhoneKeys = append(q.PhoneKeys, keys)
		}
	}
	for _, value := range params["name"] {
		q.Names = append(q.Names, parseStringAlternatives(value))
	}
	for _, value := range params["name:exact"] {
		q.ExactNames = append(q.ExactNames, parseStringAlternatives(value))
	}
	for _, value := range params["identifier"] {
		hashes, err := a.cpfHashes(f, value)
		if err != nil {
			return err
		}
		q.CPFHashes = append(q.CPFHashes, hashes)
	}
	for _, value := range params["active"] {
		statuses, err := activeStatuses(value)
		if err != nil {
			return err
		}
		q.Statuses = intersect(q.Statuses, statuses)
	}
	for _, value := range params["birthdate"] {
		if strings.Contains(value, "T") {
			return invalidParameter("birthdate", "must be a day, a month or a year: nobody knows at what time")
		}
	}
	var err error
	q.BirthDate, err = parseDateParameter("birthdate", params, time.UTC)
	return err
}

// parseStringAlternatives are the alternatives of a string parameter.
func parseStringAlternatives(value string) []string {
	list := fhir.Alternatives(value)
	for i, text := range list {
		list[i] = strings.TrimSpace(fhir.Unescape(text))
	}
	return list
}

// phoneKeys are the numbers that a parameter may mean.
func phoneKeys(parameter, value string) ([]string, error) {
	keys := []string{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		number := care.FormatE164(brazil.PhoneFromQuery(token.Code))
		switch {
		case token.System == "email" && token.HasSystem:
			return nil, &fhir.ParameterError{Parameter: parameter, Message: "must be a phone number: e-mail addresses are not searched", Unsupported: true}
		case number == "":
			return nil, invalidParameter(parameter, "must be a phone number of 8 to 15 digits")
		case token.IsOf(fhir.PhoneSystems...):
			keys = append(keys, care.PhoneKey(number))
		}
	}
	return keys, nil
}

// cpfHashes are what the tax ids that a parameter may mean are found by: patients have no
// other identifiers.
func (a *API) cpfHashes(f fhirView, value string) ([][]byte, error) {
	hashes := [][]byte{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		if token.Code == "" {
			return nil, &fhir.ParameterError{Parameter: "identifier", Message: "must have a value: whoever has any is not searched", Unsupported: true}
		}
		if digits := care.ParseCPF(token.Code); digits != "" && token.IsOf(fhir.SystemCPF) {
			hashes = append(hashes, a.store.CPFHash(f.scope, digits))
		}
	}
	return hashes, nil
}

// activeStatuses are the statuses of patients who are active, or who are not.
func activeStatuses(value string) ([]string, error) {
	statuses := []string{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		matching, ok := map[string][]string{"true": {store.Active}, "false": {store.Inactive, store.Anonymized}}[token.Code]
		if !ok {
			return nil, invalidParameter("active", "must be true or false")
		}
		if token.System == "" || token.IsOf(fhir.BooleanSystems...) {
			statuses = append(statuses, matching...)
		}
	}
	return statuses, nil
}
