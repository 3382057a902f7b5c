package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const uploadTimeout = 10 * time.Second

// client uploads spans as OTLP over HTTP. OpenTelemetry's own (otlptracehttp) does
// that too, and links all of gRPC for it: the program would grow from 25 to 39 MB.
type client struct {
	url    string
	header http.Header
	http   *http.Client
}

// headersVariable is OpenTelemetry's own name for more headers of uploads, such as a
// token.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// newClient uploads to <endpoint>/v1/traces. headers is the value of
// [headersVariable]: "name=value,…", the values percent-encoded.
func newClient(endpoint, headers string) (*client, error) {
	header := http.Header{"Content-Type": {"application/x-protobuf"}}
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, found := strings.Cut(pair, "=")
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if strings.TrimSpace(pair) == "" {
			continue
		}
		if !found || err != nil { // not quoted: it is a secret
			return nil, errors.New("reading " + headersVariable + ": it must be like name=value,name=value")
		}
		header.Set(strings.TrimSpace(name), plain)
	}
	return &client{
		url: strings.TrimRight(endpoint, "/") + "/v1/traces", header: header, http: &http.Client{Timeout: uploadTimeout},
	}, nil
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same bytes as an ExportTraceServiceRequest, whose package is the one that
	// needs gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("writing spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("preparing an upload of spans: %w", err)
	}
	req.Header = c.header
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("uploading spans: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)); err != nil {
		return fmt.Errorf("reading the collector's response: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("uploading spans: the collector responded with %s", resp.Status)
	}
	return nil
}
