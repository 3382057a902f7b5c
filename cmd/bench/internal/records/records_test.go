package records

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sent.bin")
	sent := []Sent{{ID: 1001, Number: 1, SentAt: 1, AnsweredAt: 2, Status: 202, Deliveries: 2, DataCRC: 1}, {Number: 2, SentAt: 5, AnsweredAt: 6}}
	require.NoError(t, Save(file, sent))
	got, err := Load[Sent](file)
	require.NoError(t, err)
	require.Equal(t, sent, got)

	var raw bytes.Buffer
	arrivals := []Arrival{{ID: 1001, Number: 1, SentAt: 1, ArrivedAt: 3, Endpoint: 3, Status: 200, BodyCRC: 2, DataCRC: 1}}
	require.NoError(t, Write(&raw, arrivals))
	require.Equal(t, 48, raw.Len())
	back, err := Read[Arrival](raw.Bytes())
	require.NoError(t, err)
	require.Equal(t, arrivals, back)
	_, err = Read[Arrival](raw.Bytes()[:47])
	require.Error(t, err)
}
