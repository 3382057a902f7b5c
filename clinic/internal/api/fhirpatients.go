package api

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

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
var personParameters = []string{"phone", "email", "telecom", "name", "given", "family", "identifier", "birthdate"}

// namesPerson reports whether a parameter, with or without a modifier, identifies a person.
func namesPerson(parameter string) bool {
	name, modifier, _ := strings.Cut(parameter, ":")
	return slices.Contains(personParameters, name) && modifier != fhir.ModifierMissing
}

// checkSearchLength is an error for a value that is too long to search for.
func checkSearchLength(parameter, value string) error {
	words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if utf8.RuneCountInString(value) > maxLetters || len(words) > maxWords {
		return invalidParameter(parameter, fmt.Sprintf("must have at most %d letters and %d words", maxLetters, maxWords))
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
	for _, parameter := range slices.Sorted(maps.Keys(params)) {
		name, modifier, _ := strings.Cut(parameter, ":")
		for _, value := range params[parameter] {
			var err error
			switch {
			case name == "active":
				err = addActiveStatuses(q, parameter, modifier, value)
			case name == "birthdate" && modifier == "":
				err = a.addBirthDates(q, value)
			case slices.Contains(personParameters, name):
				var term store.PatientTerm
				if term, err = a.patientTerm(f, name, modifier, value); err == nil {
					q.PatientTerms = append(q.PatientTerms, term)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// patientTerm returns the condition of a parameter that identifies a person.
func (a *API) patientTerm(f fhirView, name, modifier, value string) (term store.PatientTerm, err error) {
	if modifier == fhir.ModifierMissing {
		isMissing, err := parseBoolean(name+":"+modifier, value)
		return store.PatientTerm{
			Negated: isMissing, HasPhone: name == "phone" || name == "telecom", HasEmail: name == "email" || name == "telecom",
			HasName: name == "name" || name == "given", HasFamilyName: name == "family", HasCPF: name == "identifier", HasBirthDate: name == "birthdate",
		}, err
	}
	if err := checkSearchLength(name, value); err != nil {
		return term, err
	}
	switch name {
	case "name":
		term.Names = parseStringAlternatives(value)
		if modifier == fhir.ModifierExact {
			term.ExactNames, term.Names = term.Names, nil
		}
	case "given":
		term.GivenNames = parseStringAlternatives(value)
	case "family":
		term.FamilyNames = parseStringAlternatives(value)
	case "identifier":
		term, err = a.cpfTerm(f, value)
	default:
		term, err = contactTerm(name, value)
	}
	term.Negated = modifier == fhir.ModifierNot
	return term, err
}

// parseBoolean parses true and false.
func parseBoolean(parameter, value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, invalidParameter(parameter, "must be true or false")
	}
	return value == "true", nil
}

// addBirthDates adds the condition of a value of birthdate.
func (a *API) addBirthDates(q *store.ResourceFilter, value string) error {
	if strings.Contains(value, "T") {
		return invalidParameter("birthdate", "must be a day, a month or a year: nobody knows at what time")
	}
	filter, err := a.parseDates("birthdate", []string{value}, time.UTC)
	for _, alternatives := range filter {
		for i, timeRange := range alternatives {
			alternatives[i] = store.TimeRange(fhir.WholeDays(fhir.Range(timeRange)))
		}
	}
	q.BirthDate = append(q.BirthDate, filter...)
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

// contactTerm returns the condition of phone, email or telecom.
func contactTerm(parameter, value string) (term store.PatientTerm, err error) {
	systems := []string{fhir.SystemPhone, fhir.SystemEmail}
	if parameter != "telecom" {
		systems = []string{parameter} // which is the name of the system
	}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		system := token.System
		switch {
		case token.HasSystem && !slices.Contains(systems, system):
			continue // of no patient
		case token.HasSystem && token.Code == "":
			term.HasPhone = term.HasPhone || system == fhir.SystemPhone
			term.HasEmail = term.HasEmail || system == fhir.SystemEmail
			continue
		case !token.HasSystem && len(systems) == 1:
			system = systems[0]
		case !token.HasSystem && strings.Contains(token.Code, "@"):
			system = fhir.SystemEmail
		}
		if system == fhir.SystemEmail {
			if strings.TrimSpace(token.Code) == "" {
				return term, invalidParameter(parameter, "must be an e-mail address")
			}
			term.Emails = append(term.Emails, strings.TrimSpace(token.Code))
			continue
		}
		number := care.FormatE164(brazil.PhoneFromQuery(token.Code))
		if number == "" {
			return term, invalidParameter(parameter, "must be a phone number of 8 to 15 digits")
		}
		term.PhoneKeys = append(term.PhoneKeys, care.PhoneKey(number))
	}
	return term, nil
}

// cpfTerm returns the condition of identifier. Patients have no identifier but the CPF.
func (a *API) cpfTerm(f fhirView, value string) (term store.PatientTerm, err error) {
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		digits := care.ParseCPF(token.Code)
		switch {
		case token.Code == "" && !token.HasSystem:
			return term, invalidParameter("identifier", "must be a CPF, or the system of one and a bar")
		case !token.IsOf(fhir.CPFSystems...):
		case token.Code == "":
			term.HasCPF = true
		case digits != "":
			term.CPFHashes = append(term.CPFHashes, a.store.CPFHash(f.scope, digits))
		}
	}
	return term, nil
}

// addActiveStatuses adds the condition of a value of active.
func addActiveStatuses(q *store.ResourceFilter, parameter, modifier, value string) error {
	if modifier == fhir.ModifierMissing {
		return addMissing(q, parameter, value)
	}
	all := map[string][]string{"true": {store.Active}, "false": {store.Inactive, store.Anonymized}}
	statuses := []string{}
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		matching, ok := all[token.Code]
		if token.Code == "" && token.HasSystem {
			matching, ok = slices.Concat(all["true"], all["false"]), token.System != ""
		}
		if !ok {
			return invalidParameter(parameter, "must be true or false")
		}
		if token.System == "" || token.IsOf(fhir.BooleanSystems...) {
			statuses = append(statuses, matching...)
		}
	}
	if modifier == fhir.ModifierNot {
		statuses = without(slices.Concat(all["true"], all["false"]), statuses)
	}
	q.Statuses = intersect(q.Statuses, statuses)
	return nil
}

// addMissing adds the condition of the modifier missing for a parameter that every resource has.
func addMissing(q *store.ResourceFilter, parameter, value string) error {
	isMissing, err := parseBoolean(parameter, value)
	if isMissing {
		q.IDs = []uuid.UUID{}
	}
	return err
}
