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

// Bounds of names and numbers in a search. PostgreSQL refuses longer words and more of them.
const (
	maxLetters = 200
	maxWords   = 40
)

// personParameters identify a person. Links end up in logs, so they never contain these.
var personParameters = []string{"phone", "telecom", "name", "name:exact", "identifier", "birthdate"}

// checkSearchLengths is an error for values that are too long to search for.
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

// sealQuery returns an encoder of links that encrypts the parameters.
func (a *API) sealQuery(scope store.Scope) func(url.Values) string {
	return func(params url.Values) string {
		sealed := a.host.Sealer.Seal([]byte(params.Encode()), pageContext(scope))
		return url.Values{fhir.ParamPage: {base64.RawURLEncoding.EncodeToString(sealed)}}.Encode()
	}
}

// pageContext binds an encrypted query to its scope.
func pageContext(scope store.Scope) string {
	return "fhir-page/" + scope.Clinic.String() + "/" + string(scope.Env)
}

// openQuery decrypts the parameters of a link.
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

// parsePatientFilter adds the conditions of a search of patients to a filter.
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

// parseStringAlternatives returns the alternatives of a string parameter.
func parseStringAlternatives(value string) []string {
	list := fhir.Alternatives(value)
	for i, alternative := range list {
		list[i] = strings.TrimSpace(fhir.Unescape(alternative))
	}
	return list
}

// phoneKeys returns the phone keys of a parameter's alternatives.
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

// cpfHashes returns the hashes of the CPFs in an identifier parameter. Patients have no other
// identifiers.
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

// activeStatuses returns the statuses that a value of the parameter active stands for.
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
