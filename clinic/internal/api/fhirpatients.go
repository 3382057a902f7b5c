package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
)

// fhirPatientSearch is a search by GET: addresses end up in logs, which is why what
// names a person better goes into the body of a POST to _search.
type fhirPatientSearch struct {
	FHIRSearch
	Phone      string   `query:"phone" doc:"As people write it; with or without the ninth digit. Better sent in the body of POST _search" example:"+5511987654321"`
	Telecom    string   `query:"telecom" doc:"The same"`
	Name       string   `query:"name" doc:"How parts of the name begin. Better sent in the body of POST _search"`
	Identifier string   `query:"identifier" doc:"A CPF, with or without its system urn:oid:2.16.840.1.113883.13.237 and a | in front. Discouraged here: addresses are logged on their way; send it in the body of POST _search"`
	Birthdate  []string `query:"birthdate,explode" example:"1980-03-02"`
	Active     string   `query:"active" example:"true"`
	Page       string   `query:"_page" doc:"Sealed parameters, as the links of an answer have them"`
}

// fhirForm is a search by POST: the same parameters in the body.
type fhirForm struct {
	RawBody []byte `contentType:"application/x-www-form-urlencoded" required:"false"`
}

// fhirFormHandle binds a search by POST to its row, and documents its form.
func fhirFormHandle(handler func(context.Context, *fhirForm) (any, error)) rest.Bind {
	bind := fhirHandle(handler)
	return func(api huma.API, op huma.Operation) {
		op.SkipValidateBody = true // the form is read by the handler
		op.RequestBody = &huma.RequestBody{Content: make(map[string]*huma.MediaType)}
		bind(api, op)
		form := rest.Form(api.OpenAPI().Components.Schemas, reflect.TypeFor[fhirPatientSearch]())
		for _, content := range op.RequestBody.Content {
			content.Schema = form
		}
	}
}

// postFHIRPatients searches with the parameters of a form.
func (a *API) postFHIRPatients(ctx context.Context, in *fhirForm) (any, error) {
	values, err := url.ParseQuery(string(in.RawBody))
	if err != nil {
		return nil, misread("body", "must be a form: name=value&…")
	}
	return a.searchFHIRPatients(ctx, patientSearchOf(values))
}

// patientSearchOf reads parameters that came in a form or were sealed.
func patientSearchOf(v url.Values) *fhirPatientSearch {
	return &fhirPatientSearch{
		FHIRSearch: FHIRSearch{IDs: v["_id"], Changed: v["_lastUpdated"], Count: v.Get("_count"), After: v.Get("_after")},
		Phone:      v.Get("phone"), Telecom: v.Get("telecom"), Name: v.Get("name"), Identifier: v.Get("identifier"), Birthdate: v["birthdate"],
		Active: v.Get("active"), Page: v.Get("_page"),
	}
}

// params are the parameters of the search, as they were asked for.
func (in *fhirPatientSearch) params() url.Values {
	v := in.asked()
	for name, value := range map[string]string{
		"phone": in.Phone, "telecom": in.Telecom, "name": in.Name, "identifier": in.Identifier, "active": in.Active,
	} {
		keep(v, name, value)
	}
	keep(v, "birthdate", in.Birthdate...)
	return v
}

// How long what names a person may be in a search: PostgreSQL refuses longer words and
// more of them, and nobody is called that.
const (
	mostLetters = 200
	mostWords   = 40
)

// bounded refuses what is too long to be looked for.
func (in *fhirPatientSearch) bounded() error {
	for name, value := range map[string]string{"phone": in.Phone, "telecom": in.Telecom, "name": in.Name, "identifier": in.Identifier} {
		words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if utf8.RuneCountInString(value) > mostLetters || len(words) > mostWords {
			return misread(name, fmt.Sprintf("must have at most %d letters and %d words", mostLetters, mostWords))
		}
	}
	return nil
}

// private are the parameters that name a person.
var private = []string{"phone", "telecom", "name", "identifier", "birthdate"}

// sealedQuery writes parameters for a link: as they are, or sealed where they name a
// person, for links end up in logs.
func (a *API) sealedQuery(at store.Scope) func(url.Values) string {
	return func(asked url.Values) string {
		if !slices.ContainsFunc(private, asked.Has) {
			return plainQuery(asked)
		}
		sealed := a.kit.Sealer.Seal([]byte(asked.Encode()), pageContext(at))
		return url.Values{"_page": {base64.RawURLEncoding.EncodeToString(sealed)}}.Encode()
	}
}

// pageContext binds a sealed search to the data it was made in.
func pageContext(at store.Scope) string {
	return "fhir-page/" + at.Clinic.String() + "/" + string(at.Env)
}

// unsealed opens the parameters of a link.
func (a *API) unsealed(at store.Scope, page string) (*fhirPatientSearch, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(page)
	if err == nil {
		var plain []byte
		if plain, err = a.kit.Sealer.Open(sealed, pageContext(at)); err == nil {
			var values url.Values
			if values, err = url.ParseQuery(string(plain)); err == nil {
				return patientSearchOf(values), nil
			}
		}
	}
	return nil, misread("_page", "must come from the link of another page")
}

func (a *API) searchFHIRPatients(ctx context.Context, in *fhirPatientSearch) (any, error) {
	of := a.fhirPatients()
	f, err := a.facade(ctx, of.scope)
	if err != nil {
		return nil, err
	}
	if in.Page != "" {
		if in, err = a.unsealed(f.at, in.Page); err != nil {
			return nil, err
		}
	}
	if err := in.bounded(); err != nil {
		return nil, err
	}
	asked := in.params()
	q, err := in.begin(f)
	if err != nil {
		return nil, err
	}
	if in.Phone == "" {
		in.Phone = in.Telecom
	}
	if in.Phone != "" {
		number := care.E164(brazil.Asked(in.Phone))
		if number == "" {
			return nil, misread("phone", "must be a phone number of 8 to 15 digits")
		}
		q.PhoneKey = care.PhoneKey(number)
	}
	q.Name = strings.TrimSpace(in.Name)
	if in.Identifier != "" {
		a.identified(f, &q, in.Identifier)
	}
	if q.Born, err = span("birthdate", in.Birthdate, time.UTC); err != nil {
		return nil, err
	}
	switch in.Active {
	case "":
	case "true":
		q.Statuses = []string{store.Active}
	case "false":
		q.Statuses = []string{store.Inactive, store.Anonymized}
	default:
		return nil, misread("active", "must be true or false")
	}
	return a.searchset(ctx, of, f, q, asked, a.sealedQuery(f.at))
}

// identified narrows a search down to who has an identifier.
func (a *API) identified(f facade, q *store.Search, identifier string) {
	system, value := fhir.Token(identifier)
	digits := care.CPF(value)
	if digits == "" || system != "" && system != fhir.SystemCPF {
		q.IDs = []uuid.UUID{} // patients have no other identifiers
		return
	}
	q.CPFHash = a.store.CPFHash(f.at, digits)
}
