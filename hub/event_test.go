package hub_test

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func TestEventID(t *testing.T) {
	t.Parallel()
	id := hub.NewEventID()
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, id)
	bits, ok := hub.ParseEventID(id)
	require.True(t, ok)
	require.Equal(t, id, hub.FormatEventID(bits))
	for _, invalid := range []string{"", "evt_", "evt_0123456789abcde", "evt_0123456789abcdef0", "EVT_0123456789abcdef", "evt_0123456789abcdeG", "evt_0123456789abcdeg"} {
		_, ok := hub.ParseEventID(invalid)
		require.False(t, ok, invalid)
	}
}

func TestEnvironmentValid(t *testing.T) {
	t.Parallel()
	for environment, want := range map[hub.Environment]bool{hub.Live: true, hub.Test: true, "": false, "LIVE": false, "staging": false} {
		require.Equal(t, want, environment.Valid(), environment)
	}
}

// The bits of an id are its digits, the highest first.
func TestEventIDBits(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]uint64{vectorID: 0x0123456789abcdef, "evt_fedcba9876543210": 0xfedcba9876543210, "evt_0000000000000009": 9, "evt_a000000000000000": 0xa << 60, "evt_00000000000000AF": 0xaf} {
		bits, ok := hub.ParseEventID(id)
		require.True(t, ok, id)
		require.Equal(t, want, bits, id)
		require.Equal(t, strings.ToLower(id), hub.FormatEventID(bits))
	}
	for _, invalid := range []string{"evt_000000000000000@", "evt_000000000000000G", "evt_000000000000000/", "evt_000000000000000:", "evt_000000000000000`", "evt_000000000000000g", "evx_0123456789abcdef"} {
		_, ok := hub.ParseEventID(invalid)
		require.False(t, ok, invalid)
	}
}

// The id counts in lowercase, wherever the body has it, and nothing else does.
func TestHashEvent(t *testing.T) {
	t.Parallel()
	const lower = `{"id":"evt_0123456789abcdef","data":{"x":"EVT_ABC evt_0123456789abcdee","ref":"evt_0123456789abcdef"}}`
	upper := strings.ReplaceAll(lower, vectorID, "evt_0123456789ABCDEF")
	before := strings.Clone(upper)
	for _, id := range []string{vectorID, "evt_0123456789ABCdef"} {
		require.Equal(t, sha256.Sum256([]byte(lower)), hub.HashEvent([]byte(lower), id))
		require.Equal(t, sha256.Sum256([]byte(lower)), hub.HashEvent([]byte(upper), id))
	}
	require.Equal(t, before, upper)
	for _, other := range []string{strings.Replace(lower, "EVT_ABC", "EVT_abc", 1), strings.Replace(lower, "dee", "DEE", 1), `evt_0123456789ABCDE`, ``, `evt_`} {
		require.Equal(t, sha256.Sum256([]byte(other)), hub.HashEvent([]byte(other), vectorID), other)
	}
	require.Equal(t, sha256.Sum256([]byte(vectorID)), hub.HashEvent([]byte("evt_0123456789ABCDEF"), vectorID))
}

// Words of ASCII letters, digits, _ and -, joined by single dots.
func TestValidEventType(t *testing.T) {
	t.Parallel()
	for _, valid := range []string{"a", "z", "A", "Z", "0", "9", "_", "-", "az.AZ.09.a_b-c", "appointment.created", "a.b.c"} {
		require.True(t, hub.ValidEventType(valid), valid)
	}
	for _, invalid := range []string{"", ".", "a.", ".a", "a..b", "a b", "*", "patient.*", "é", "a\x00", "a/", "a:", "a@", "a[", "a`", "a{", "a^", "a,", "/", ":", "@", "[", "`", "{"} {
		require.False(t, hub.ValidEventType(invalid), "%q", invalid)
	}
}

// Texts are quoted as JSON wants it: quotation marks, backslashes, control characters.
func TestEnvelopeQuotesTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain ~", " ", `a"b`, `a\b`, `"`, `\`, "\u2028", "\x80", "\xff", "\x7f", "a\x1fb", "a\x00b", "a\x7fb", "é", "\n"} {
		raw := hub.AppendEnvelope(nil, hub.Event{ID: vectorID, Product: text, Type: text, CorrelationID: text, Time: time.Unix(vectorTime, 0)})
		want, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, `{"id":"`+vectorID+`","product":`+string(want)+`,"event_type":`+string(want)+`,"timestamp":"2026-01-02T03:04:05Z","correlation_id":`+string(want)+`,"data":{}}`, string(raw))
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add("clinic", "patient.created", "corr-1", `{"a":1}`)
	f.Add("a\"b", "x\\y", "é\u2028", `[ 1 ]`)
	f.Fuzz(func(t *testing.T, product, eventType, correlationID, data string) {
		if !json.Valid([]byte(data)) || !utf8.ValidString(product) || !utf8.ValidString(eventType) || !utf8.ValidString(correlationID) {
			return
		}
		timestamp := time.Unix(1767323045, 999)
		raw := hub.AppendEnvelope([]byte("kept"), hub.Event{
			ID: vectorID, Product: product, Type: eventType, Time: timestamp, CorrelationID: correlationID, Data: []byte(data),
		})
		require.Equal(t, "kept", string(raw[:4]))
		var got struct {
			ID            string          `json:"id"`
			Product       string          `json:"product"`
			Type          string          `json:"event_type"`
			Timestamp     string          `json:"timestamp"`
			CorrelationID string          `json:"correlation_id"`
			Data          json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(raw[4:], &got))
		require.Equal(t, vectorID, got.ID)
		require.Equal(t, product, got.Product)
		require.Equal(t, eventType, got.Type)
		require.Equal(t, correlationID, got.CorrelationID)
		require.Equal(t, "2026-01-02T03:04:05Z", got.Timestamp)
		require.JSONEq(t, data, string(got.Data))
	})
}
