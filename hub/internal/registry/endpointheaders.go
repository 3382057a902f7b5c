package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Bounds of an endpoint's headers.
const (
	maxHeaders         = 10
	maxHeaderNameSize  = 100
	maxHeaderValueSize = 4096
)

// maskedStart begins a value as it is shown.
const maskedStart = "***"

var (
	headerNamePattern  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValuePattern = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
)

// reservedHeaders are the hub's own headers and those that concern a connection, in lower
// case; reservedHeaderStarts are beginnings of such names.
var (
	reservedHeaders = []string{
		"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
		"user-agent", "accept-encoding", strings.ToLower(hub.HeaderKey), strings.ToLower(hub.HeaderHub),
	}
	reservedHeaderStarts = []string{"content-", "proxy-", "webhook-", "x-webhook-", "x-hub-", "x-integration-"}
)

// checkHeaders refuses headers that must not be sent.
func checkHeaders(headers map[string]string) error {
	const location = "body.headers"
	if len(headers) > maxHeaders {
		return hub.Invalid(location, fmt.Sprintf("must have at most %d members", maxHeaders))
	}
	seen := make(map[string]bool, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower, value := strings.ToLower(name), headers[name]
		if len(name) > maxHeaderNameSize || !headerNamePattern.MatchString(name) {
			return hub.Invalid(location, fmt.Sprintf("has a member whose name is not that of a header: letters, digits and -, at most %d", maxHeaderNameSize))
		}
		switch at := location + "." + name; {
		case slices.Contains(reservedHeaders, lower), slices.ContainsFunc(reservedHeaderStarts, func(start string) bool { return strings.HasPrefix(lower, start) }):
			return hub.Invalid(at, "is set by the hub or concerns the connection; choose another header")
		case seen[lower]:
			return hub.Invalid(at, "occurs twice, in upper and lower case")
		case strings.HasPrefix(value, maskedStart):
			return hub.Invalid(at, "is masked: send the value itself, or leave headers out to keep them all")
		case len(value) > maxHeaderValueSize || !headerValuePattern.MatchString(value):
			return hub.Invalid(at, fmt.Sprintf("must be 1 to %d printable ASCII characters, without spaces at its ends", maxHeaderValueSize))
		}
		seen[lower] = true
	}
	return nil
}

// SameOrigin reports whether two URLs have the same scheme, host and port: whoever answers at one
// answers at the other.
func SameOrigin(a, b string) bool {
	first, errFirst := url.Parse(a)
	second, errSecond := url.Parse(b)
	return errFirst == nil && errSecond == nil && first.Scheme == second.Scheme && strings.EqualFold(first.Host, second.Host)
}

// HeadersContext returns what an endpoint's headers are encrypted under.
func HeadersContext(endpointID uuid.UUID) string { return "endpoint-headers/" + endpointID.String() }

// Opener decrypts what is sealed at rest.
type Opener interface {
	Open(sealed []byte, context string) ([]byte, error)
}

// OpenHeaders returns an endpoint's headers from their sealed form; nil for none.
func OpenHeaders(box Opener, endpointID uuid.UUID, sealed []byte) (headers map[string]string, err error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plain, err := box.Open(sealed, HeadersContext(endpointID))
	if err == nil {
		err = json.Unmarshal(plain, &headers)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the headers of endpoint %s: %w", endpointID, err)
	}
	return headers, nil
}

// sealHeaders is the reverse of [OpenHeaders].
func (e *Endpoints) sealHeaders(endpointID uuid.UUID, headers map[string]string) ([]byte, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	plain, err := json.Marshal(headers)
	if err != nil {
		return nil, fmt.Errorf("encoding headers: %w", err)
	}
	return e.box.Seal(plain, HeadersContext(endpointID)), nil
}

// maskHeaders returns headers as they are shown: the last four characters of long values.
func maskHeaders(headers map[string]string) map[string]string {
	masked := make(map[string]string, len(headers))
	for name, value := range headers {
		masked[name] = maskedStart
		if len(value) >= 16 {
			masked[name] += value[len(value)-4:]
		}
	}
	return masked
}
