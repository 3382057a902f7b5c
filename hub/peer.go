package hub

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// PeerConnector is the connector of every product that has the integration interface of
// interface document 3: other hubs, and products registered without a connector of
// their own. Connectors of products that differ in part embed it.
type PeerConnector struct {
	PeerSpec Spec
}

var (
	_ Connector = PeerConnector{}
	_ Registrar = PeerConnector{}
	_ Actor     = PeerConnector{}
)

// PeerRatePerMinute is what the interface takes: requests a minute per key and integration.
const PeerRatePerMinute = 100

// Paths of the interface below [Connection.URL].
const (
	peerStatus     = "/integrations/status"
	peerWebhook    = "/integrations/webhook"
	peerRegister   = "/integrations/webhook/register"
	peerUnregister = "/integrations/webhook/unregister"
	peerCalls      = "/integrations/" // "search/…" and "action/…" follow
	peerBase       = "/api/v1"        // under which the interface usually lies
)

// NewPeerConnector is the connector of a product that is known by its name only: every event,
// every search and action.
func NewPeerConnector(name, title string) PeerConnector {
	return PeerConnector{PeerSpec: Spec{
		Name: name, Title: title, Fields: PeerFields(), RatePerMinute: PeerRatePerMinute,
		Receives: []string{"*"}, Sends: []string{"*"}, Calls: []string{"search/*", "action/*"},
	}}
}

// PeerFields is the form of the interface.
func PeerFields() []Field {
	return []Field{
		{Key: FieldURL, Label: "API address", Help: "The base under which /integrations lies; it usually ends in /api/v1.", Required: true},
		{Key: FieldKey, Label: "API key", Help: "Issued by the other product for this one.", Required: true, Secret: true},
	}
}

// Spec implements [Connector].
func (p PeerConnector) Spec() Spec {
	s := p.PeerSpec
	s.Fields, s.Calls = slices.Clone(s.Fields), slices.Clone(s.Calls)
	s.Receives, s.Sends = slices.Clone(s.Receives), slices.Clone(s.Sends)
	return s
}

// Probe implements [Connector]: GET …/status with the key. Where there is none and
// the address does not end in /api/v1, it tries below that.
func (p PeerConnector) Probe(ctx context.Context, do Doer, c Connection) (Status, error) {
	base := strings.TrimRight(c.URL, "/")
	answer, err := get(ctx, do, base+peerStatus, c.Key)
	found := ""
	if err == nil && answer.Status == http.StatusNotFound && !strings.HasSuffix(base, peerBase) {
		found = base + peerBase
		answer, err = get(ctx, do, found+peerStatus, c.Key)
	}
	if err != nil {
		return Status{}, err
	}
	if err := answer.StatusError(); err != nil {
		return Status{}, err
	}
	var said peerSays
	if err := answer.DecodeJSON(&said); err != nil {
		return Status{}, err
	}
	status := said.status()
	status.URL = found
	return status, nil
}

func get(ctx context.Context, do Doer, address, key string) (Response, error) {
	req, err := NewRequest(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Response{}, err
	}
	req.Header.Set(HeaderKey, key)
	return Exchange(do, req)
}

// peerSays is a status as the products write it: each calls its tenants something
// else, and hubs name them in the same words besides.
type peerSays struct {
	Product     string      `json:"product"`
	Version     string      `json:"version"`
	Features    []string    `json:"features"`
	Status      string      `json:"status"`
	Environment Environment `json:"environment"`
	TenantID    anyID       `json:"tenant_id"`
	ClinicID    anyID       `json:"clinic_id"`
	OrgID       anyID       `json:"org_id"`
	CompanyID   anyID       `json:"company_id"`
	TenantName  string      `json:"tenant_name"`
	ClinicName  string      `json:"clinic_name"`
	OrgName     string      `json:"org_name"`
	CompanyName string      `json:"company_name"`
}

func (s peerSays) status() Status {
	return Status{
		Product: s.Product, Version: s.Version, Environment: s.Environment, Features: s.Features, Active: s.Status == "active",
		TenantID:   first(string(s.TenantID), string(s.ClinicID), string(s.OrgID), string(s.CompanyID)),
		TenantName: first(s.TenantName, s.ClinicName, s.OrgName, s.CompanyName),
	}
}

func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// anyID is an identifier that may be a string or a number.
type anyID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *anyID) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if err := json.Unmarshal(raw, &number); err == nil {
		*id = anyID(number)
		return nil
	}
	return json.Unmarshal(raw, (*string)(id))
}

// Decode implements [Connector].
func (p PeerConnector) Decode(c Connection, in Inbound) ([]Event, error) {
	if err := c.VerifySignature(in); err != nil {
		return nil, err
	}
	e, err := ParseEnvelope(in.Body)
	if err != nil {
		return nil, err
	}
	return []Event{e}, nil
}

// Encode implements [Connector]: the envelope, signed.
func (p PeerConnector) Encode(c Connection, e Event) (Outbound, error) {
	if !MatchesEventType(p.PeerSpec.Sends, e.Type) {
		return Outbound{}, UnsupportedEvent()
	}
	address := c.WebhookURL
	if address == "" {
		address = strings.TrimRight(c.URL, "/") + peerWebhook
	}
	body := AppendEnvelope(make([]byte, 0, len(e.Data)+256), e)
	header, err := c.SignedHeader(e.ID, body)
	if err != nil {
		return Outbound{}, err
	}
	return Outbound{URL: address, Header: header, Body: body}, nil
}

// Register implements [Registrar]: POST …/webhook/register. Any 2xx is a success, as
// the documents do not show the answer; what it says is read where it is JSON. A hub
// whose account is connected to another of ours answers [CodeOtherAccountConnected]; then so
// does Register, as an [ErrConflict].
func (p PeerConnector) Register(ctx context.Context, do Doer, c Connection, r Registration) (RegistrationResponse, error) {
	answer, err := post(ctx, do, c, peerRegister, r)
	switch {
	case err == nil && answer.Status == http.StatusConflict && answer.code() == CodeOtherAccountConnected:
		err = Errorf(ErrConflict, CodeOtherAccountConnected, "The other side is connected to another account of %s already: that integration has to be revoked there first.", r.Product)
	case err == nil:
		err = answer.StatusError()
	}
	if err != nil {
		return RegistrationResponse{}, err
	}
	var registered RegistrationResponse
	if answer.DecodeJSON(&registered) != nil {
		return RegistrationResponse{}, nil // a peer that answers "ok"
	}
	return registered, nil
}

// Unregister implements [Registrar]: POST …/webhook/unregister, which is the hub's
// own; products by the documents alone do not know it.
func (p PeerConnector) Unregister(ctx context.Context, do Doer, c Connection) error {
	answer, err := post(ctx, do, c, peerUnregister, struct{}{})
	if err != nil {
		return err
	}
	switch answer.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return nil
	}
	return answer.StatusError()
}

func post(ctx context.Context, do Doer, c Connection, path string, body any) (Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Response{}, Errorf(ErrInvalid, "body_unwritable", "The request cannot be written as JSON.").WithCause(err)
	}
	req, err := NewRequest(ctx, http.MethodPost, strings.TrimRight(c.URL, "/")+path, raw)
	if err != nil {
		return Response{}, err
	}
	req.Header.Set(HeaderKey, c.Key)
	return Exchange(do, req)
}

// Act implements [Actor]: searches are a GET with the query, actions a POST with the
// body.
func (p PeerConnector) Act(ctx context.Context, do Doer, c Connection, call Call) (json.RawMessage, error) {
	kind, name, _ := strings.Cut(call.Name, "/")
	if !MatchesEventType(p.PeerSpec.Calls, call.Name) || !callName(name) {
		return nil, Errorf(ErrInvalid, "unknown_call", "The other product has no such search or action.")
	}
	var answer Response
	var err error
	if kind == "search" {
		answer, err = get(ctx, do, strings.TrimRight(c.URL, "/")+peerCalls+call.Name+"?"+call.Query.Encode(), c.Key)
	} else {
		answer, err = post(ctx, do, c, peerCalls+call.Name, call.body())
	}
	if err != nil {
		return nil, err
	}
	return answer.CallResult()
}

// body is the JSON object to send: an empty one where there is none.
func (c Call) body() json.RawMessage {
	if len(c.Body) == 0 {
		return json.RawMessage(`{}`)
	}
	return c.Body
}

// callName tells whether a call's name can stand in a path as it is.
func callName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
