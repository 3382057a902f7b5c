package acmecrm_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/connectors/internal/acmecrm"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/connectortest"
)

// acme signs as Acme says it does.
func acme(c hub.Connection, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(c.Secret()))
	_, _ = fmt.Fprintf(mac, "%d.%s", c.Now.Unix(), body)
	header := http.Header{}
	header.Set("X-Acme-Timestamp", fmt.Sprint(c.Now.Unix()))
	header.Set("X-Acme-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))
	return header
}

func suite() connectortest.Case {
	connection := connectortest.NewConnection("acme-crm")
	connection.Config = map[string]string{"pipeline": "patients"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return connectortest.Case{
		Connector: acmecrm.New(), Connection: connection,
		Events: []hub.Event{
			{ID: "evt_0123456789abcdef", Product: "messaging", Type: "contact.created", Time: at, CorrelationID: "c-1", Data: []byte(`{"phone":"+5511987654321","name":"Ana"}`)},
			{ID: "evt_0123456789abcdf0", Product: "scheduling", Type: "appointment.created", Time: at, Data: []byte(`{"service":"Cleaning"}`)},
		},
		AfterRoundTrip: func(e hub.Event) hub.Event { // Acme knows nobody but itself
			e.Product, e.CorrelationID = "acme-crm", ""
			return e
		},
		Sign: acme, SignatureHeader: "X-Acme-Signature",
		StatusPath: "/account",
		Status: func(product string, active bool) string {
			if product != "acme-crm" {
				return "" // an account does not say what product it belongs to
			}
			return fmt.Sprintf(`{"id":"acc_7","name":"One","active":%t}`, active)
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, suite())
}

func FuzzDecode(f *testing.F) { connectortest.Fuzz(f, suite()) }

func TestDecode(t *testing.T) {
	t.Parallel()
	c := suite().Connection
	body := []byte(`{"id":"act_9f","kind":"lead.created","at":"2026-01-02T00:04:05-03:00","object":{"name":"Ana"}}`)
	events, err := acmecrm.New().Decode(c, hub.Inbound{Header: acme(c, body), Body: body})
	require.NoError(t, err)
	require.Equal(t, []hub.Event{{
		ID: hub.DeriveEventID("act_9f"), Product: "acme-crm", Type: "contact.created",
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Data: []byte(`{"name":"Ana"}`),
	}}, events)

	for name, late := range map[string]time.Duration{"old": 5*time.Minute + time.Second, "ahead": -5*time.Minute - time.Second} {
		now := c
		now.Now = c.Now.Add(late)
		_, err = acmecrm.New().Decode(now, hub.Inbound{Header: acme(c, body), Body: body})
		require.ErrorIs(t, err, hub.ErrUnauthorized, name)
	}
	body = []byte(`{"id":"act_9f","kind":"invoice.sent","at":"2026-01-02T03:04:05Z","object":{}}`)
	events, err = acmecrm.New().Decode(c, hub.Inbound{Header: acme(c, body), Body: body})
	require.NoError(t, err)
	require.Empty(t, events, "a kind that concerns nobody here")
}

// The guide shows this very file, and it is as short as it says.
func TestGuideShowsTheSource(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("acmecrm.go")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(guide), "```go\n")
	require.True(t, found, "the guide has no code")
	shown, _, found := strings.Cut(after, "```\n")
	require.True(t, found, "the guide's code does not end")
	require.Equal(t, string(source), shown, "copy acmecrm.go into connectors/README.md")
	require.Less(t, bytes.Count(source, []byte("\n")), 150)
}
