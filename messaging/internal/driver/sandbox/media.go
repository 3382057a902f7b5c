package sandbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// dataScheme begins the addresses that contain their file.
const dataScheme = "data:"

// incomingMedia returns the file of a phone's message as networks describe it: the address
// is its reference.
func incomingMedia(address string) *driver.IncomingMedia {
	in := &driver.IncomingMedia{Type: chat.MediaDocument, Reference: address}
	if data, ok := strings.CutPrefix(address, dataScheme); ok {
		in.MimeType, _, _ = strings.Cut(data, ",")
		in.MimeType = strings.TrimSuffix(in.MimeType, ";base64")
	} else if parsed, err := url.Parse(address); err == nil {
		in.Name = path.Base(parsed.Path)
		in.MimeType = mime.TypeByExtension(path.Ext(in.Name))
	}
	switch kind, _, _ := strings.Cut(in.MimeType, "/"); kind {
	case "image", "audio", "video":
		in.Type = chat.MediaType(kind)
	}
	return in
}

// OpenMedia implements [driver.Driver]. The reference of a file is the address that the
// phone sent.
func (n *Network) OpenMedia(ctx context.Context, _ driver.Connection, reference string) (io.ReadCloser, error) {
	if data, ok := strings.CutPrefix(reference, dataScheme); ok {
		header, content, _ := strings.Cut(data, ",")
		if !strings.HasSuffix(header, ";base64") {
			return nil, fmt.Errorf("%w: the data URL is not base64", driver.ErrRefused)
		}
		raw, err := base64.StdEncoding.DecodeString(content)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", driver.ErrRefused, err)
		}
		return io.NopCloser(bytes.NewReader(raw)), nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, reference, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", driver.ErrRefused, err)
	}
	response, err := n.host.Downloads.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetching a file: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%w: its address responds with status %d", driver.ErrRefused, response.StatusCode)
	}
	return response.Body, nil
}
