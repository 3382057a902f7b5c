package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/pointer"
)

// Bounds of an endpoint's event types.
const (
	maxEventTypes    = 100
	maxEventTypeSize = 128 // characters, as of an event's type
)

// eventTypePattern is "*", "appointment.*" or "appointment.created".
var eventTypePattern = regexp.MustCompile(`^(\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)$`)

// URLChecker decides whether webhooks may be sent to an address. Its error is a
// [hub.ErrInvalid] with the code url_not_allowed about the field location.
type URLChecker interface {
	CheckURL(location, raw string) (*url.URL, error)
}

// Endpoints manages plain webhook subscriptions.
type Endpoints struct {
	db   *pgxpool.Pool
	box  *seal.Box
	urls URLChecker
	now  func() time.Time
}

// NewEndpoints returns a manager of the endpoints in db. It encrypts secrets with box.
func NewEndpoints(db *pgxpool.Pool, box *seal.Box, urls URLChecker, now func() time.Time) *Endpoints {
	return &Endpoints{db: db, box: box, urls: urls, now: now}
}

// Scope is what a caller may see and change: for a tenant's key its tenant and environment,
// for an operator (the zero Scope) everything. Anything outside is not found.
type Scope struct {
	TenantID    *uuid.UUID
	Environment hub.Environment
}

// Endpoint is a tenant's webhook subscription.
type Endpoint struct {
	ID             uuid.UUID
	TenantID       uuid.UUID
	Environment    hub.Environment
	URL            string
	EventTypes     []string
	Description    string
	Enabled        bool
	DisabledReason *string    // why the hub disabled it, e.g. "gone"
	DisabledAt     *time.Time // nil = enabled
	AbandonedAt    *time.Time // disabled for so long that events make no deliveries any more
	RatePerMinute  *int32     // nil = not paced
	Ordered        bool       // gets the events of one ordering key one at a time
	Filter         *string    // CEL expression over the event; nil = gets all of its types
	FilterErrors   *FilterErrors
	Headers        map[string]string // sent with each attempt; values masked
	Certificate    *CertificateInfo  // that the hub shows the receiver; nil = none
	Signing        Signing
	CreatedAt      time.Time
	UpdatedAt      time.Time
	stored         dbgen.Endpoint
}

// EndpointState is the part of an endpoint that its owner sets.
type EndpointState struct {
	URL           string
	EventTypes    []string
	Description   string
	Enabled       bool
	RatePerMinute *int32 // 1 to 1,000,000, nil = no limit
	Ordered       *bool  // nil = as it is; false for a new endpoint
	// Filter is a CEL expression over the event, see package filter; nil = as it is, "" = none.
	Filter *string
	// Headers are sent with each attempt; nil = as they are, an empty map = none.
	Headers map[string]string
	// Certificate is shown to the receiver; nil = as it is, the zero value = none.
	Certificate *Certificate
}

// FilterErrors counts the events that an endpoint's filter could not be evaluated for, since
// the filter was set.
type FilterErrors struct {
	Count  int64
	Last   string // what was wrong the last time
	LastAt time.Time
}

// Create creates an endpoint and returns it with its secret, which is never shown again. A
// secret of "" is replaced by a random one. An unknown tenant is a [hub.ErrNotFound]; a
// tenant with as many endpoints as it may have is a [hub.ErrInvalid].
func (e *Endpoints) Create(ctx context.Context, tenantID uuid.UUID, environment hub.Environment, state EndpointState, secret string) (Endpoint, string, error) {
	if err := e.check(state); err != nil {
		return Endpoint{}, "", err
	}
	if err := checkScheme(state, false); err != nil {
		return Endpoint{}, "", err
	}
	secret, err := secretOrNew(secret)
	if err != nil {
		return Endpoint{}, "", err
	}
	id := uuid.Must(uuid.NewV7())
	headers, err := e.sealHeaders(id, state.Headers)
	if err != nil {
		return Endpoint{}, "", err
	}
	chain, key := e.sealCertificate(id, state.Certificate)
	var row dbgen.Endpoint
	err = store.InTx(ctx, e.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if err := checkEndpointLimit(ctx, queries, tenantID); err != nil {
			return err
		}
		err := checkOperationalLimit(ctx, queries, dbgen.CountOperationalEndpointsParams{TenantID: tenantID, Environment: environment, EndpointID: id}, state.EventTypes)
		if err != nil {
			return err
		}
		row, err = queries.CreateEndpoint(ctx, dbgen.CreateEndpointParams{
			ID: id, TenantID: tenantID, Environment: environment, Url: state.URL, EventTypes: state.EventTypes,
			Description: state.Description, Enabled: state.Enabled, RatePerMinute: state.RatePerMinute, Ordered: state.Ordered != nil && *state.Ordered, Filter: pointer.NilIfZero(pointer.ValueOrZero(state.Filter)),
			Secret: e.box.Seal([]byte(secret), SecretContext(id)), StandardSignature: hub.IsStandardSecret(secret),
			Headers: headers, ClientCertificate: chain, ClientKey: key,
		})
		return err
	})
	if err != nil {
		return Endpoint{}, "", store.Wrap("storing the endpoint", err)
	}
	endpoint, err := e.completed(ctx, row)
	return endpoint, secret, err
}

// Get loads an endpoint. One that is deleted or out of scope is a [hub.ErrNotFound].
func (e *Endpoints) Get(ctx context.Context, scope Scope, id uuid.UUID) (Endpoint, error) {
	row, err := dbgen.New(e.db).EndpointByID(ctx, dbgen.EndpointByIDParams{ID: id, TenantID: scope.TenantID, Environment: pointer.NilIfZero(string(scope.Environment))})
	if err != nil {
		return Endpoint{}, store.Wrap("loading the endpoint", err)
	}
	return e.completed(ctx, row)
}

// completed returns a stored endpoint with all that is shown of it.
func (e *Endpoints) completed(ctx context.Context, row dbgen.Endpoint) (Endpoint, error) {
	list := []Endpoint{endpointOf(row)}
	err := e.complete(ctx, list)
	return list[0], err
}

// complete sets what a row alone does not show of endpoints.
func (e *Endpoints) complete(ctx context.Context, list []Endpoint) error {
	for i := range list {
		headers, err := OpenHeaders(e.box, list[i].ID, list[i].stored.Headers)
		if err != nil {
			return err
		}
		list[i].Headers = maskHeaders(headers)
	}
	return e.loadFilterErrors(ctx, list)
}

// loadFilterErrors sets the FilterErrors of endpoints that have a filter.
func (e *Endpoints) loadFilterErrors(ctx context.Context, list []Endpoint) error {
	var ids []uuid.UUID
	for _, endpoint := range list {
		if endpoint.Filter != nil {
			ids = append(ids, endpoint.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := dbgen.New(e.db).FilterErrorsOf(ctx, ids)
	if err != nil {
		return store.Wrap("loading the errors of filters", err)
	}
	byEndpoint := make(map[uuid.UUID]*FilterErrors, len(rows))
	for _, row := range rows {
		byEndpoint[row.EndpointID] = &FilterErrors{Count: row.Count, Last: row.LastError, LastAt: row.LastAt}
	}
	for i := range list {
		list[i].FilterErrors = byEndpoint[list[i].ID]
	}
	return nil
}

// GetForPing is [Endpoints.Get], but an endpoint that was deleted or is disabled is a
// [hub.ErrConflict] that says so.
func (e *Endpoints) GetForPing(ctx context.Context, scope Scope, id uuid.UUID) (Endpoint, error) {
	endpoint, err := e.Get(ctx, scope, id)
	if errors.Is(err, hub.ErrNotFound) {
		wasDeleted, findErr := dbgen.New(e.db).EndpointWasDeleted(ctx, dbgen.EndpointWasDeletedParams{ID: id, TenantID: scope.TenantID, Environment: pointer.NilIfZero(string(scope.Environment))})
		if findErr != nil {
			return Endpoint{}, store.Wrap("looking for a deleted endpoint", findErr)
		}
		if wasDeleted {
			return Endpoint{}, hub.Errorf(hub.ErrConflict, "endpoint_deleted", "This endpoint was deleted; nothing is sent to it any more.")
		}
	}
	if err == nil && !endpoint.Enabled {
		return Endpoint{}, hub.Errorf(hub.ErrConflict, "endpoint_disabled", "This endpoint is disabled; enable it first.")
	}
	return endpoint, err
}

// EndpointFilter narrows a list of endpoints; zero fields match everything.
type EndpointFilter struct {
	Scope
	Product string
	Enabled *bool
}

// List returns up to limit endpoints, newest first, that follow the id before.
func (e *Endpoints) List(ctx context.Context, wanted EndpointFilter, before *uuid.UUID, limit int) ([]Endpoint, error) {
	rows, err := dbgen.New(e.db).ListEndpoints(ctx, dbgen.ListEndpointsParams{
		TenantID: wanted.TenantID, Environment: pointer.NilIfZero(string(wanted.Environment)), Product: pointer.NilIfZero(wanted.Product), Enabled: wanted.Enabled,
		Before: before, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Wrap("listing endpoints", err)
	}
	list := make([]Endpoint, len(rows))
	for i, row := range rows {
		list[i] = endpointOf(row.Endpoint)
	}
	return list, e.complete(ctx, list)
}

// Update replaces everything but the secret, and returns the names of the settings that this
// changed. Enabling an endpoint clears the reason why it was disabled.
func (e *Endpoints) Update(ctx context.Context, scope Scope, id uuid.UUID, state EndpointState) (endpoint Endpoint, changed []string, err error) {
	// First, so that a caller without access does not learn whether a URL is allowed.
	present, err := e.Get(ctx, scope, id)
	if err != nil {
		return Endpoint{}, nil, err
	}
	if err := e.check(state); err != nil {
		return Endpoint{}, nil, err
	}
	if state.Ordered == nil {
		state.Ordered = &present.Ordered
	}
	if state.Filter == nil {
		state.Filter = present.Filter
	}
	if err := checkScheme(state, present.Certificate != nil); err != nil {
		return Endpoint{}, nil, err
	}
	if state.Headers == nil && len(present.Headers) > 0 && !SameOrigin(present.URL, state.URL) {
		return Endpoint{}, nil, hub.Invalid("body.headers", "must be given for another host: the present ones may hold secrets of the receiver at the old URL; {} removes them")
	}
	if changed, err = e.changes(present, state); err != nil || len(changed) == 0 {
		return present, nil, err
	}
	headers, err := e.sealHeaders(id, state.Headers)
	if err != nil {
		return Endpoint{}, nil, err
	}
	chain, key := e.sealCertificate(id, state.Certificate)
	var row dbgen.Endpoint
	err = store.InTx(ctx, e.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		err := checkOperationalLimit(ctx, queries, dbgen.CountOperationalEndpointsParams{TenantID: present.TenantID, Environment: present.Environment, EndpointID: id}, state.EventTypes)
		if err != nil {
			return err
		}
		row, err = queries.UpdateEndpoint(ctx, dbgen.UpdateEndpointParams{
			ID: id, TenantID: scope.TenantID, Environment: pointer.NilIfZero(string(scope.Environment)), Url: state.URL, EventTypes: state.EventTypes,
			Description: state.Description, Enabled: state.Enabled, RatePerMinute: state.RatePerMinute, Ordered: *state.Ordered, Filter: pointer.NilIfZero(pointer.ValueOrZero(state.Filter)),
			SetHeaders: state.Headers != nil, Headers: headers, SetCertificate: state.Certificate != nil, ClientCertificate: chain, ClientKey: key,
		})
		return err
	})
	if err != nil {
		return Endpoint{}, nil, store.Wrap("changing the endpoint", err)
	}
	endpoint, err = e.completed(ctx, row)
	return endpoint, changed, err
}

// changes returns the names of the settings that an update of an endpoint to a state, whose
// Ordered is set, would change. A client certificate always counts: its key is not compared.
func (e *Endpoints) changes(present Endpoint, state EndpointState) (names []string, err error) {
	headers, err := OpenHeaders(e.box, present.ID, present.stored.Headers)
	if err != nil {
		return nil, err
	}
	for _, setting := range []struct {
		name    string
		changes bool
	}{
		{"url", present.URL != state.URL},
		{"event_types", !slices.Equal(present.EventTypes, state.EventTypes)},
		{"description", present.Description != state.Description},
		{"enabled", present.Enabled != state.Enabled || state.Enabled && present.DisabledReason != nil},
		{"rate_per_minute", !equalPointers(present.RatePerMinute, state.RatePerMinute)},
		{"ordered", present.Ordered != *state.Ordered},
		{"filter", !equalPointers(present.Filter, pointer.NilIfZero(pointer.ValueOrZero(state.Filter)))},
		{"headers", state.Headers != nil && !maps.Equal(headers, state.Headers)},
		{"client_certificate", state.Certificate != nil && (present.Certificate != nil || *state.Certificate != Certificate{})},
	} {
		if setting.changes {
			names = append(names, setting.name)
		}
	}
	return names, nil
}

// checkScheme refuses an address without TLS for an endpoint with a client certificate.
func checkScheme(state EndpointState, hasCertificate bool) error {
	if state.Certificate != nil {
		hasCertificate = *state.Certificate != (Certificate{})
	}
	if hasCertificate && !strings.HasPrefix(strings.ToLower(state.URL), "https://") {
		return hub.Invalid("body.url", "must be an https address: the endpoint has a client certificate")
	}
	return nil
}

// Delete deletes an endpoint and returns its tenant. The endpoint's log stays.
func (e *Endpoints) Delete(ctx context.Context, scope Scope, id uuid.UUID) (tenantID uuid.UUID, err error) {
	tenantID, err = dbgen.New(e.db).DeleteEndpoint(ctx, dbgen.DeleteEndpointParams{ID: id, TenantID: scope.TenantID, Environment: pointer.NilIfZero(string(scope.Environment))})
	return tenantID, store.Wrap("deleting the endpoint", err)
}

func (e *Endpoints) check(state EndpointState) error {
	if len(state.EventTypes) == 0 {
		return hub.Invalid("body.event_types", fmt.Sprintf("must have 1 to %d entries", maxEventTypes))
	}
	if err := CheckEventTypes("body.event_types", state.EventTypes); err != nil {
		return err
	}
	if rate := state.RatePerMinute; rate != nil && (*rate < 1 || *rate > 1_000_000) {
		return hub.Invalid("body.rate_per_minute", "must be from 1 to 1000000, or null")
	}
	if text := pointer.NilIfZero(pointer.ValueOrZero(state.Filter)); text != nil {
		if err := filter.Check(*text); err != nil {
			return hub.Invalid("body.filter", err.Error())
		}
	}
	if err := checkHeaders(state.Headers); err != nil {
		return err
	}
	if c := state.Certificate; c != nil && *c != (Certificate{}) {
		if err := c.check(e.now()); err != nil {
			return err
		}
	}
	_, err := e.urls.CheckURL("body.url", state.URL)
	return err
}

// CheckEventTypes refuses what are no patterns of event types, or too many. location is
// where they stand in a request.
func CheckEventTypes(location string, patterns []string) error {
	if len(patterns) > maxEventTypes {
		return hub.Invalid(location, fmt.Sprintf("must have 1 to %d entries", maxEventTypes))
	}
	for i, pattern := range patterns {
		if len(pattern) > maxEventTypeSize {
			return hub.Invalid(location+"["+strconv.Itoa(i)+"]", fmt.Sprintf("must have at most %d characters", maxEventTypeSize))
		}
		if !eventTypePattern.MatchString(pattern) {
			return hub.Invalid(location+"["+strconv.Itoa(i)+"]", "must be *, a prefix such as appointment.*, or a type such as appointment.created")
		}
	}
	return nil
}

func endpointOf(row dbgen.Endpoint) Endpoint {
	return Endpoint{
		ID: row.ID, TenantID: row.TenantID, Environment: row.Environment, URL: row.Url, EventTypes: row.EventTypes,
		Description: row.Description, Enabled: row.Enabled, DisabledReason: row.DisabledReason, DisabledAt: row.DisabledAt, AbandonedAt: row.AbandonedAt, RatePerMinute: row.RatePerMinute, Ordered: row.Ordered, Filter: row.Filter,
		Certificate: certificateInfoOf(row.ClientCertificate), stored: row,
		Signing: signingOf(row), CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}
