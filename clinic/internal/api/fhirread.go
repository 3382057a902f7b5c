package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// fhirID has the path of one resource. An id that is no UUID is not found.
type fhirID struct {
	ID string `path:"id" maxLength:"64" doc:"Names the resource"`
}

// readOutput is a resource with its validators, or 304 without the resource.
type readOutput struct {
	Status       int
	ETag         string `header:"ETag" doc:"Changes with what the response has"`
	LastModified string `header:"Last-Modified" doc:"When the clinic last changed the resource"`
	Body         resource
}

// handleFHIRRead binds a handler of one resource to its route. Requests may be conditional.
// If-Modified-Since is not evaluated: the name and the zone of the clinic change resources
// too, and two changes may lie in one second.
func handleFHIRRead[I any](handler func(context.Context, *I) (fhir.Resource, error)) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		op.Responses = map[string]*huma.Response{"304": {Description: "The resource is as If-None-Match has it"}}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "ETags of earlier responses: where one of them fits, the response is 304 without a body",
		})
		withOutcomeErrors(rest.Handle(func(ctx context.Context, in *I) (*readOutput, error) {
			value, err := handleAcceptable(ctx, op, in, func(ctx context.Context, in *I) (any, error) { return handler(ctx, in) })
			module.RequireAudit(ctx) // also if no patient is found
			if err != nil {
				return nil, err
			}
			return newReadOutput(value.(fhir.Resource), fhirRequestFrom(ctx).ifNoneMatch) //nolint:forcetypeassert // handler's own
		}))(api, op)
	}
}

// newReadOutput returns a resource, or 304 if its ETag is among those of a request.
func newReadOutput(value fhir.Resource, ifNoneMatch string) (*readOutput, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing a resource: %w", err)
	}
	sum := sha256.Sum256(raw)
	out := &readOutput{Status: http.StatusOK, ETag: `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`, Body: resource{json.RawMessage(raw)}}
	if changed := value.LastUpdated(); !changed.IsZero() {
		out.LastModified = changed.UTC().Format(http.TimeFormat)
	}
	if matchesETag(ifNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// matchesETag reports whether a value of If-None-Match has an ETag, compared weakly (RFC 9110).
func matchesETag(ifNoneMatch, etag string) bool {
	for _, candidate := range strings.Split(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// findResource returns one resource. It is a [hub.ErrNotFound] if there is none.
func (a *API) findResource(ctx context.Context, kind resourceType, f fhirView, text string) (fhir.Resource, error) {
	id, err := uuid.Parse(text)
	if err == nil {
		found, err := kind.find(ctx, f, store.ResourceFilter{Scope: f.scope, ForPeer: f.ForPeer, IDs: []uuid.UUID{id}, Limit: 1, SkipCount: true})
		if err != nil {
			return nil, err
		}
		if len(found.list) == 1 {
			return found.list[0], nil
		}
	}
	return nil, hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", kind.name)
}

// bindFHIRRead binds the read of a type.
func (a *API) bindFHIRRead(kinds func() resourceType) rest.Binder {
	kind := kinds()
	return func(api huma.API, op huma.Operation) {
		for _, name := range []string{fhir.ParamSummary, fhir.ParamElements, fhir.ParamFormat} {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Description: resultParamDocs[name], Schema: parameterSchema()})
		}
		handleFHIRRead(func(ctx context.Context, in *fhirID) (fhir.Resource, error) {
			f, err := a.newFHIRView(ctx, kind.scope)
			if err != nil {
				return nil, err
			}
			params, err := fhirRequestFrom(ctx).parameters("")
			if err != nil {
				return nil, err
			}
			subset, err := fhir.ParseSubset(params)
			if err == nil && subset.OnlyCounts() {
				err = &fhir.ParameterError{Parameter: fhir.ParamSummary, Message: "can be count in searches only"}
			}
			if err != nil {
				return nil, mapParamError(err)
			}
			found, err := a.findResource(ctx, kind, f, in.ID)
			if err != nil {
				return nil, err
			}
			return subset.Of(found), nil
		})(api, op)
	}
}

// withHead adds a row for HEAD to each row for GET: the same answer without its body. The
// OpenAPI document leaves it out.
func withHead(rows []rest.Route) []rest.Route {
	for _, row := range rows {
		if row.Method != http.MethodGet {
			continue
		}
		bind := row.Bind
		row.Method, row.Bind = http.MethodHead, func(api huma.API, op huma.Operation) {
			op.Hidden = true
			bind(api, op)
		}
		rows = append(rows, row)
	}
	return rows
}
