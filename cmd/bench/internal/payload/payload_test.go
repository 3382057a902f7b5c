package payload

import (
	"encoding/json"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func TestStampSurvivesFloorAndEnvelope(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{0, 7, 123456789, 1 << 40} {
		const at = int64(1767323045123456789)
		body, sum := AppendEvent(nil, n, at, 1024, 0)
		require.True(t, json.Valid(body))

		var published struct {
			Type string          `json:"event_type"`
			Data json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(body, &published))
		require.Equal(t, EventType, published.Type)
		require.Len(t, published.Data, 1024)

		envelope := hub.AppendEnvelope(nil, hub.Event{
			ID: hub.FormatEventID(n), Product: "bench", Type: EventType, Time: time.Unix(1767323045, 0), Data: published.Data,
		})
		for _, delivered := range [][]byte{body, envelope} {
			gotN, gotAt, data, ok := ReadStamp(delivered)
			require.True(t, ok)
			require.Equal(t, n, gotN)
			require.Equal(t, at, gotAt)
			require.Equal(t, sum, crc32.ChecksumIEEE(data))
		}
	}
}

func TestStampOfOtherBodies(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{}", `{"data":{}}`, `{"data":{"n":1}}`, `{"data":{"n":1,"x":2}}`} {
		_, _, _, ok := ReadStamp([]byte(body))
		require.False(t, ok, body)
	}
}
