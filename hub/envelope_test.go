package hub_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func TestParseEnvelope(t *testing.T) {
	t.Parallel()
	e, err := hub.ParseEnvelope([]byte(`{"data": {"a" : 1, "b":2.50},"later":true,"timestamp":"2026-01-02T00:04:05.5-03:00",
		"product":"clinic","event_type":"patient.created","id":"evt_0123456789abcdef","correlation_id":null}`))
	require.NoError(t, err)
	require.Equal(t, hub.Event{
		ID: vectorID, Product: "clinic", Type: "patient.created", Time: time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC), Data: json.RawMessage(`{"a" : 1, "b":2.50}`),
	}, e)
	// The last of repeated fields wins, names may be escaped, and nested fields are ignored.
	e, err = hub.ParseEnvelope([]byte("\n\t" + `{ "x" : [{"id":"}"},"\\\"]",[ ]] ,"\u0069d" :"evt_ffffffffffffffff" , "id":"evt_0123456789abcdef","product":"clinic","product":"c\u006cinic",
		"event_type":"x","timestamp":"2026-01-02T03:04:05Z","n":-1.5e3,"data":{"id":"evt_ffffffffffffffff","data":"}\\"},"t":true}  `))
	require.NoError(t, err)
	require.Equal(t, []string{vectorID, "clinic", `{"id":"evt_ffffffffffffffff","data":"}\\"}`}, []string{e.ID, e.Product, string(e.Data)})
	e, err = hub.ParseEnvelope([]byte(vectorBody))
	require.NoError(t, err)
	require.Equal(t, vectorBody, string(hub.AppendEnvelope(nil, e)))
}

// An escaped name is the name it stands for; times reach from year 1 to year 9999.
func TestParseEnvelopeNamesAndTimes(t *testing.T) {
	t.Parallel()
	const fields = `"product":"clinic","event_type":"x","data":{}`
	for text, want := range map[string]time.Time{
		"0001-01-01T00:00:00Z": time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), "9999-12-31T23:59:59Z": time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"0000-12-31T23:30:00-01:00": time.Date(1, 1, 1, 0, 30, 0, 0, time.UTC),
	} {
		e, err := hub.ParseEnvelope([]byte(`{"\u0069d":"` + vectorID + `","timestamp":"` + text + `",` + fields + `}`))
		require.NoError(t, err, text)
		require.Equal(t, want, e.Time)
		require.Equal(t, vectorID, e.ID, "the name is escaped")
	}
	for _, text := range []string{"0000-12-31T23:59:59Z", "10000-01-01T00:00:00Z"} {
		_, err := hub.ParseEnvelope([]byte(`{"id":"` + vectorID + `","timestamp":"` + text + `",` + fields + `}`))
		require.ErrorIs(t, err, hub.ErrInvalid, text)
	}
	e, err := hub.ParseEnvelope([]byte(`{"timestamp":"2026-01-02T03:04:05Z","id":"` + vectorID + `","\\u0069d":"x","correlation_id":"",` + fields + `}`))
	require.NoError(t, err)
	require.Equal(t, vectorID, e.ID, "an escaped backslash is not an escape of i")
}

func TestParseEnvelopeErrors(t *testing.T) {
	t.Parallel()
	const good = `"id":"evt_0123456789abcdef","product":"clinic","event_type":"x","timestamp":"2026-01-02T03:04:05Z","data":{}`
	for body, location := range map[string]string{
		``: "", `{`: "", `{` + good + `} {}`: "", "{\"id\":\"\x01\"}": "",
		`null`: "body", ` []`: "body", `[]`: "body", `"x"`: "body", `7`: "body",
		`{}`: "body.id", `{"ID":"evt_0123456789abcdef"}`: "body.id",
		`{` + good + `,"id":"evt_0123456789ABCDEG"}`:             "body.id",
		`{` + good + `,"id":7}`:                                  "body.id",
		`{` + good + `,"product":""}`:                            "body.product",
		`{` + good + `,"product":null}`:                          "body.product",
		`{` + good + `,"event_type":["x"]}`:                      "body.event_type",
		`{` + good + `,"timestamp":"yesterday"}`:                 "body.timestamp",
		`{` + good + `,"timestamp":1767323045}`:                  "body.timestamp",
		`{` + good + `,"timestamp":"9999-12-31T23:00:00-23:00"}`: "body.timestamp",
		`{` + good + `,"timestamp":"0001-01-01T00:00:00+01:00"}`: "body.timestamp",
		`{` + good + `,"correlation_id":{}}`:                     "body.correlation_id",
		`{` + good + `,"data":null}`:                             "body.data",
		`{` + good + `,"data":[]}`:                               "body.data",
		`{` + good + `,"data":"{}"}`:                             "body.data",
	} {
		e, err := hub.ParseEnvelope([]byte(body))
		require.Error(t, err, body)
		require.Zero(t, e)
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr, body)
		if len(hubErr.Fields) == 0 {
			require.ErrorIs(t, err, hub.ErrMalformed, body)
			require.Empty(t, location, body)
			continue
		}
		require.ErrorIs(t, err, hub.ErrInvalid, body)
		if location != "" {
			require.Equal(t, location, hubErr.Fields[0].Location, body)
		}
	}
}

func TestDeriveEventID(t *testing.T) {
	t.Parallel()
	require.Equal(t, hub.DeriveEventID("lead-1"), hub.DeriveEventID("lead-1"))
	require.NotEqual(t, hub.DeriveEventID("lead-1"), hub.DeriveEventID("lead-2"))
	_, ok := hub.ParseEventID(hub.DeriveEventID(""))
	require.True(t, ok)
}

// Parsing and encoding an envelope that the hub encoded keeps its bytes.
func FuzzParseEnvelope(f *testing.F) {
	f.Add([]byte(vectorBody))
	f.Add([]byte(`{"id":"evt_0123456789abcdef","product":"a\"b","event_type":"x\u2028","timestamp":"2026-01-02T03:04:05+01:00","correlation_id":"é","data": { "a" : [ 1 ] } }`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := hub.ParseEnvelope(body)
		var fields map[string]json.RawMessage
		jsonErr := json.Unmarshal(body, &fields)
		if err != nil {
			return
		}
		require.NoError(t, jsonErr)
		for name, got := range map[string]string{"id": e.ID, "product": e.Product, "event_type": e.Type, "correlation_id": e.CorrelationID} {
			var want string
			if raw := fields[name]; raw != nil {
				require.NoError(t, json.Unmarshal(raw, &want))
			}
			require.Equal(t, want, got, name)
		}
		require.Equal(t, string(bytes.TrimSpace(fields["data"])), string(e.Data))
		stored := hub.AppendEnvelope(nil, e)
		reparsed, err := hub.ParseEnvelope(stored)
		require.NoError(t, err)
		require.Equal(t, string(stored), string(hub.AppendEnvelope(nil, reparsed)))
	})
}
