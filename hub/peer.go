package hub

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// PeerConnector is the connector of every product with the integration interface of
// docs/interfaces/clinic.md: other hubs, and products without a connector of their own.
// Connectors of products that differ in part embed it.
type PeerConnector struct {
	PeerSpec Spec
}

var (
	_ Connector  = PeerConnector{}
	_ Registrar  = PeerConnector{}
	_ PeerCaller = PeerConnector{}
)

// PeerRatePerMinute is the interface's limit of requests a minute per key and
// integration.
const PeerRatePerMinute = 100

// Paths of the interface below [Connection.URL].
const (
	peerStatus     = "/integrations/status"
	peerWebhook    = "/integrations/webhook"
	peerRegister   = "/integrations/webhook/register"
	peerUnregister = "/integrations/webhook/unregister"
	peerCalls      = "/integrations/" // "search/…" and "action/…" follow
	peerBase       = "/api/v1"        // the usual prefix of the interface
)

// NewPeerConnector returns the connector of a product that is known only by name. It
// allows every event, search and action.
func NewPeerConnector(name, title string) PeerConnector {
	return PeerConnector{PeerSpec: Spec{
		Name: name, Title: title, Fields: PeerFields(), RatePerMinute: PeerRatePerMinute,
		Receives: []string{"*"}, Sends: []string{"*"}, Calls: []string{"search/*", "action/*"},
	}}
}

// PeerFields returns the form fields of the interface.
func PeerFields() []Field {
	return []Field{
		{Key: FieldURL, Label: "API address", Help: "The base under which /integrations lies; it usually ends in /api/v1.", Required: true},
		{Key: FieldKey, Label: "API key", Help: "Issued by the other product for this one.", Required: true, Secret: true},
	}
}

// Spec implements [Connector].
func (p PeerConnector) Spec() Spec {
	spec := p.PeerSpec
	spec.Fields, spec.Calls = slices.Clone(spec.Fields), slices.Clone(spec.Calls)
	spec.Receives, spec.Sends = slices.Clone(spec.Receives), slices.Clone(spec.Sends)
	return spec
}

// Probe implements [Connector]: GET …/status with the key. On a 404 it tries again
// below /api/v1, unless the address already ends with it.
func (p PeerConnector) Probe(ctx context.Context, do Doer, c Connection) (Status, error) {
	base := strings.TrimRight(c.URL, "/")
	response, err := get(ctx, do, base+peerStatus, c.Key)
	foundBase := ""
	if err == nil && response.Status == http.StatusNotFound && !strings.HasSuffix(base, peerBase) {
		foundBase = base + peerBase
		response, err = get(ctx, do, foundBase+peerStatus, c.Key)
	}
	if err != nil {
		return Status{}, err
	}
	if err := response.StatusError(); err != nil {
		return Status{}, err
	}
	var body statusBody
	if err := response.DecodeJSON(&body); err != nil {
		return Status{}, err
	}
	status := body.status()
	status.URL = foundBase
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

// statusBody is the JSON of …/status. Each product names its tenant fields
// differently; hubs send tenant_id and tenant_name as well.
type statusBody struct {
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

func (s statusBody) status() Status {
	return Status{
		Product: s.Product, Version: s.Version, Environment: s.Environment, Features: s.Features, Active: s.Status == "active",
		TenantID:   firstNonEmpty(string(s.TenantID), string(s.ClinicID), string(s.OrgID), string(s.CompanyID)),
		TenantName: firstNonEmpty(s.TenantName, s.ClinicName, s.OrgName, s.CompanyName),
	}
}

func firstNonEmpty(values ...string) string {
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

// Register implements [Registrar]: POST …/webhook/register. Any 2xx is a success,
// because the interface does not define the response; JSON is parsed. A hub whose
// account is connected to another account of ours responds with
// [CodeOtherAccountConnected], which Register returns as an [ErrConflict].
func (p PeerConnector) Register(ctx context.Context, do Doer, c Connection, r Registration) (RegistrationResponse, error) {
	response, err := post(ctx, do, c, peerRegister, r)
	switch {
	case err == nil && response.Status == http.StatusConflict && response.errorCode() == CodeOtherAccountConnected:
		err = Errorf(ErrConflict, CodeOtherAccountConnected, "The other side is connected to another account of %s already: that integration has to be revoked there first.", r.Product)
	case err == nil:
		err = response.StatusError()
	}
	if err != nil {
		return RegistrationResponse{}, err
	}
	var registration RegistrationResponse
	if response.DecodeJSON(&registration) != nil {
		return RegistrationResponse{}, nil // some peers respond with plain text
	}
	return registration, nil
}

// Unregister implements [Registrar]: POST …/webhook/unregister, an extension that other
// products may not support.
func (p PeerConnector) Unregister(ctx context.Context, do Doer, c Connection) error {
	response, err := post(ctx, do, c, peerUnregister, struct{}{})
	if err != nil {
		return err
	}
	switch response.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return nil
	}
	return response.StatusError()
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

// Call implements [PeerCaller]. Searches are a GET with the query, actions a POST with the
// body.
func (p PeerConnector) Call(ctx context.Context, do Doer, c Connection, call Call) (json.RawMessage, error) {
	kind, name, _ := strings.Cut(call.Name, "/")
	if !MatchesEventType(p.PeerSpec.Calls, call.Name) || !isCallName(name) {
		return nil, Errorf(ErrInvalid, "unknown_call", "The other product has no such search or action.")
	}
	var response Response
	var err error
	if kind == "search" {
		response, err = get(ctx, do, strings.TrimRight(c.URL, "/")+peerCalls+call.Name+"?"+call.Query.Encode(), c.Key)
	} else {
		response, err = post(ctx, do, c, peerCalls+call.Name, call.jsonBody())
	}
	if err != nil {
		return nil, err
	}
	return response.CallResult()
}

// jsonBody returns the JSON object to send; an empty object if there is none.
func (c Call) jsonBody() json.RawMessage {
	if len(c.Body) == 0 {
		return json.RawMessage(`{}`)
	}
	return c.Body
}

// isCallName reports whether a call's name is safe in a path without escaping.
func isCallName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
