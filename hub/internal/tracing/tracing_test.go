package tracing

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
)

// What every event passes costs nothing while tracing is off.
func TestOffAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts the allocations of the whole process
	off, err := New(t.Context(), "", "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Nil(t, off)
	ctx, batch, failed := t.Context(), []delivery.AttemptResult{{Sent: true}}, errors.New("failed")
	parent, state := []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), []byte("a=b")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		span := off.StartPublication(parent, state)
		if span.Parent() != nil || span.InContext(ctx) != ctx {
			panic("a span while tracing is off")
		}
		span.SetEvents("shop", "a.b", 1)
		off.StartCommit(ctx).End(nil)
		span.SetAccepted("evt_0123456789abcdef", 1)
		span.End(failed)
		off.RecordAttempts(batch)
	}))
	off.Close()
}

// A collector that is away or refuses is complained about once, without the
// headers that may hold its token, and delays nobody.
func TestCollectorThatRefuses(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collectorcanary, x-team = hub")
	seen := make(chan http.Header, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Clone()
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(collector.Close)
	var log bytes.Buffer
	tracer, err := New(t.Context(), collector.URL+"/", "test", slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	for range 2 {
		tracer.StartPublication(nil, nil).End(hub.Errorf(hub.ErrForbidden, "missing_scope", "no"))
		require.NoError(t, tracer.provider.ForceFlush(t.Context()))
	}
	tracer.Close()
	header := <-seen
	require.Equal(t, "Bearer collectorcanary", header.Get("Authorization"))
	require.Equal(t, "hub", header.Get("X-Team"))
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), log.String())
	require.Contains(t, log.String(), "403")
	require.NotContains(t, log.String(), "collectorcanary")
}

func TestHeadersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"headercanary", "a=b,headercanary", "a=%zz-headercanary"} {
		_, err := newClient("http://127.0.0.1:1", bad)
		require.ErrorContains(t, err, headersVariable)
		require.NotContains(t, err.Error(), "headercanary")
	}
}
