package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/url"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
)

// sealedCursor is a cursor of a sorted search as links have it, encrypted: the values may
// identify a person.
type sealedCursor struct {
	Sort   string    `json:"sort"`
	Values []*string `json:"values"`
	ID     uuid.UUID `json:"id"`
}

// withCursor returns the parameters of a search for the page that begins or ends at a cursor.
func (a *API) withCursor(search fhirSearch, parameter string, cursor store.Cursor) url.Values {
	params := maps.Clone(search.params)
	params.Del(fhir.ParamAfter)
	params.Del(fhir.ParamBefore)
	text := cursor.ID.String()
	if sort := params.Get(fhir.ParamSort); sort != "" {
		raw, _ := json.Marshal(sealedCursor{sort, cursor.Values, cursor.ID}) // texts only
		text = base64.RawURLEncoding.EncodeToString(a.host.Sealer.Seal(raw, cursorContext(search.kind.name, search.view.scope)))
	}
	params.Set(parameter, text)
	return params
}

// cursorContext binds a sealed cursor to its type and scope.
func cursorContext(resourceType string, scope store.Scope) string {
	return "fhir-cursor/" + resourceType + "/" + scope.Clinic.String() + "/" + string(scope.Env)
}

// parseCursor returns the cursor of a page, nil for the first page.
func (a *API) parseCursor(resourceType string, scope store.Scope, params url.Values) (*store.Cursor, error) {
	parameter := fhir.ParamAfter
	if params.Has(fhir.ParamBefore) {
		parameter = fhir.ParamBefore
	}
	text := params.Get(parameter)
	if text == "" {
		return nil, nil
	}
	cursor := &store.Cursor{Backward: parameter == fhir.ParamBefore}
	var err error
	if sort := params.Get(fhir.ParamSort); sort == "" {
		cursor.ID, err = uuid.Parse(text)
	} else {
		err = a.openCursor(cursor, text, sort, cursorContext(resourceType, scope))
	}
	if err != nil || params.Has(fhir.ParamAfter) && params.Has(fhir.ParamBefore) {
		return nil, invalidParameter(parameter, "must come from the link of another page")
	}
	return cursor, nil
}

// openCursor sets a cursor to what a link of a search with the same order has.
func (a *API) openCursor(cursor *store.Cursor, text, sort, context string) error {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		raw, err = a.host.Sealer.Open(raw, context)
	}
	var sealed sealedCursor
	if err == nil {
		err = json.Unmarshal(raw, &sealed)
	}
	if err == nil && sealed.Sort != sort {
		err = errOtherOrder
	}
	cursor.Values, cursor.ID = sealed.Values, sealed.ID
	return err
}

var errOtherOrder = errors.New("the cursor is of another order")
