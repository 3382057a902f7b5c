// Package acmecrm connects to Acme CRM, which exists in the guide only.
package acmecrm

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
)

// Connector implements Acme's interface.
type Connector struct{}

var _ hub.Connector = Connector{}

// New makes the connector.
func New() Connector { return Connector{} }

const (
	name            = "acme-crm"
	headerSignature = "X-Acme-Signature" // "v1=" and the hex HMAC-SHA256 of "timestamp.body"
	headerTimestamp = "X-Acme-Timestamp" // unix seconds
	tolerance       = 5 * time.Minute    // how old a signature may be: Acme signs each attempt anew
)

// kinds are Acme's names of events, by ours.
var kinds = map[string]string{"contact.created": "lead.created", "appointment.created": "meeting.planned"}

// Spec implements [hub.Connector].
func (Connector) Spec() hub.Spec {
	return hub.Spec{
		Name:  name,
		Title: "Acme CRM",
		Fields: []hub.Field{
			{Key: hub.FieldURL, Label: "Address", Help: "Such as https://api.acme.example/v2.", Required: true},
			{Key: hub.FieldKey, Label: "Access token", Required: true, Secret: true},
			{Key: hub.FieldSecret, Label: "Signing secret", Help: "From Settings, Webhooks.", Required: true, Secret: true},
			{Key: "pipeline", Label: "Pipeline", Help: "Where new leads are put."},
		},
		Receives:      []string{"contact.created"},
		Sends:         []string{"contact.created", "appointment.created"},
		RatePerMinute: 600,
	}
}

// Probe implements [hub.Connector].
func (Connector) Probe(ctx context.Context, do hub.Doer, c hub.Connection) (hub.Status, error) {
	req, err := hub.NewRequest(ctx, http.MethodGet, strings.TrimRight(c.URL, "/")+"/account", nil)
	if err != nil {
		return hub.Status{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	answer, err := hub.Exchange(do, req)
	if err != nil {
		return hub.Status{}, err
	}
	if err := answer.StatusError(); err != nil {
		return hub.Status{}, err
	}
	var account struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Active bool   `json:"active"`
	}
	if err := answer.DecodeJSON(&account); err != nil {
		return hub.Status{}, err
	}
	return hub.Status{Product: name, TenantID: account.ID, TenantName: account.Name, Active: account.Active}, nil
}

// activity is an event as Acme writes it.
type activity struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	At       time.Time       `json:"at"`
	Pipeline string          `json:"pipeline,omitempty"`
	Object   json.RawMessage `json:"object"`
}

// Decode implements [hub.Connector]: the signature first, then the body.
func (Connector) Decode(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
	timestamp, err := strconv.ParseInt(in.Header.Get(headerTimestamp), 10, 64)
	given := in.Header.Values(headerSignature)
	if err != nil || len(given) != 1 || c.Now.Sub(time.Unix(timestamp, 0)).Abs() > tolerance {
		return nil, hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "The signature is missing or too old.")
	}
	holds := false
	for _, secret := range c.Secrets {
		if secret != "" && hmac.Equal([]byte(given[0]), []byte(sign(secret, timestamp, in.Body))) {
			holds = true
		}
	}
	if !holds {
		return nil, hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "The signature is not valid.")
	}
	var a activity
	if err := json.Unmarshal(in.Body, &a); err != nil {
		return nil, hub.Errorf(hub.ErrMalformed, "malformed_json", "The body is not an activity.")
	}
	if a.ID == "" || len(a.Object) == 0 || a.Object[0] != '{' {
		return nil, hub.Invalid("body", "must have an id and an object")
	}
	id := a.ID
	if _, ours := hub.ParseEventID(id); !ours {
		id = hub.DeriveEventID(id)
	}
	for eventType, kind := range kinds {
		if kind == a.Kind {
			return []hub.Event{{ID: id, Product: name, Type: eventType, Time: a.At.UTC(), Data: a.Object}}, nil
		}
	}
	return nil, nil // genuine, and nothing that concerns us
}

// Encode implements [hub.Connector].
func (Connector) Encode(c hub.Connection, e hub.Event) (hub.Outbound, error) {
	kind, ok := kinds[e.Type]
	if !ok {
		return hub.Outbound{}, hub.UnsupportedEvent()
	}
	body, err := json.Marshal(activity{ID: e.ID, Kind: kind, At: e.Time.UTC(), Pipeline: c.Config["pipeline"], Object: e.Data})
	if err != nil || c.Secret() == "" {
		return hub.Outbound{}, hub.Errorf(hub.ErrInvalid, "not_encoded", "The event cannot be written or signed.")
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Authorization", "Bearer "+c.Key)
	header.Set(headerTimestamp, strconv.FormatInt(c.Now.Unix(), 10))
	header.Set(headerSignature, sign(c.Secret(), c.Now.Unix(), body))
	return hub.Outbound{URL: strings.TrimRight(c.URL, "/") + "/activities", Header: header, Body: body}, nil
}

func sign(secret string, timestamp int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(append(strconv.AppendInt(nil, timestamp, 10), '.'))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
