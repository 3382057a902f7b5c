package connectortest_test

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/connectortest"
)

// envBroken names the broken connector that a process of this test's own runs.
const envBroken = "CONNECTORTEST_BREAKS"

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(envBroken) != "" {
		if err := flag.Set("test.run", "^TestSuite$"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// validConnector is a connector that keeps to the contract.
func validConnector() hub.PeerConnector { return hub.NewPeerConnector("acme", "Acme") }

func events() []hub.Event {
	return []hub.Event{
		{ID: "evt_0123456789abcdef", Product: "clinic", Type: "patient.created", Time: time.Unix(1767323045, 0), CorrelationID: "c", Data: []byte(`{"name":"Ana"}`)},
		{ID: "evt_0123456789abcdf0", Product: "clinic", Type: "patient.updated", Time: time.Unix(1767323046, 0), Data: []byte(`{"a":[1,2.50]}`)},
	}
}

// TestSuite is the suite itself: with the intact connector, or in a process of
// TestSuiteFindsWhatIsBroken's with a broken one.
func TestSuite(t *testing.T) {
	t.Parallel()
	c := connectortest.PeerCase(validConnector(), events())
	c.Files = []string{"../../peer.go", "../../envelope.go"}
	if name := os.Getenv(envBroken); name != "" {
		c.Connector = broken()[name].connector
	}
	connectortest.Run(t, c)
}

func FuzzSuite(f *testing.F) {
	connectortest.Fuzz(f, connectortest.PeerCase(validConnector(), events()))
}

// brokenConnector is the intact connector but for what is set.
type brokenConnector struct {
	hub.PeerConnector
	spec     func(hub.Spec) hub.Spec
	probe    func(context.Context, hub.Doer, hub.Connection) (hub.Status, error)
	decode   func(hub.Connection, hub.Inbound) ([]hub.Event, error)
	encode   func(hub.Connection, hub.Event) (hub.Outbound, error)
	register func(context.Context, hub.Doer, hub.Connection, hub.Registration) (hub.RegistrationResponse, error)
}

func (c brokenConnector) Spec() hub.Spec {
	if c.spec != nil {
		return c.spec(c.PeerConnector.Spec())
	}
	return c.PeerConnector.Spec()
}

func (c brokenConnector) Probe(ctx context.Context, do hub.Doer, at hub.Connection) (hub.Status, error) {
	if c.probe != nil {
		return c.probe(ctx, do, at)
	}
	return c.PeerConnector.Probe(ctx, do, at)
}

func (c brokenConnector) Decode(at hub.Connection, in hub.Inbound) ([]hub.Event, error) {
	if c.decode != nil {
		return c.decode(at, in)
	}
	return c.PeerConnector.Decode(at, in)
}

func (c brokenConnector) Encode(at hub.Connection, e hub.Event) (hub.Outbound, error) {
	if c.encode != nil {
		return c.encode(at, e)
	}
	return c.PeerConnector.Encode(at, e)
}

func (c brokenConnector) Register(ctx context.Context, do hub.Doer, at hub.Connection, r hub.Registration) (hub.RegistrationResponse, error) {
	if c.register != nil {
		return c.register(ctx, do, at, r)
	}
	return c.PeerConnector.Register(ctx, do, at, r)
}

// parse reads an envelope after a check of one's own.
func parse(holds func(c hub.Connection, in hub.Inbound) bool) func(hub.Connection, hub.Inbound) ([]hub.Event, error) {
	return func(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
		if !holds(c, in) {
			return nil, hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "No.")
		}
		e, err := hub.ParseEnvelope(in.Body)
		if err != nil {
			return nil, err
		}
		return []hub.Event{e}, nil
	}
}

func signed(c hub.Connection, in hub.Inbound) bool {
	return len(in.Header.Values(hub.HeaderSignature)) == 1 && hub.VerifyBody(in.Header.Get(hub.HeaderSignature), in.Body, c.Secrets...)
}

// status asks for the status in a way of one's own.
func status(read func(*http.Response, hub.Connection) (hub.Status, error)) func(context.Context, hub.Doer, hub.Connection) (hub.Status, error) {
	return func(ctx context.Context, do hub.Doer, c hub.Connection) (hub.Status, error) {
		req, err := hub.NewRequest(ctx, http.MethodGet, strings.TrimRight(c.URL, "/")+"/integrations/status", nil)
		if err != nil {
			return hub.Status{}, err
		}
		req.Header.Set(hub.HeaderKey, c.Key)
		res, err := do.Do(req) //nolint:bodyclose // whether it is closed is what is tried
		if err != nil {
			return hub.Status{}, hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "No.")
		}
		return read(res, c)
	}
}

// breakage is a connector with one thing wrong, and words of what the suite says.
type breakage struct {
	connector hub.Connector
	output    string
}

func broken() map[string]breakage {
	p := validConnector()
	return map[string]breakage{
		"accepts everything": {brokenConnector{PeerConnector: p, decode: parse(func(hub.Connection, hub.Inbound) bool { return true })}, "TestSuite/signatures"},
		"any case": {brokenConnector{PeerConnector: p, decode: parse(func(c hub.Connection, in hub.Inbound) bool {
			return len(in.Header.Values(hub.HeaderSignature)) == 1 && strings.EqualFold(in.Header.Get(hub.HeaderSignature), hub.SignBody(c.Secret(), in.Body))
		})}, "TestSuite/signatures"},
		"first line only": {brokenConnector{PeerConnector: p, decode: parse(func(c hub.Connection, in hub.Inbound) bool {
			return hub.VerifyBody(in.Header.Get(hub.HeaderSignature), in.Body, c.Secrets...)
		})}, "TestSuite/signatures"},
		"beginning only": {brokenConnector{PeerConnector: p, decode: parse(func(c hub.Connection, in hub.Inbound) bool {
			value, want := in.Header.Get(hub.HeaderSignature), hub.SignBody(c.Secret(), in.Body)
			return len(value) > 7 && len(in.Header.Values(hub.HeaderSignature)) == 1 && strings.HasPrefix(want, value)
		})}, "TestSuite/signatures"},
		"prefix optional": {brokenConnector{PeerConnector: p, decode: parse(func(c hub.Connection, in hub.Inbound) bool {
			value := strings.TrimPrefix(in.Header.Get(hub.HeaderSignature), "sha256=")
			return len(in.Header.Values(hub.HeaderSignature)) == 1 && hub.VerifyBody("sha256="+value, in.Body, c.Secrets...)
		})}, "TestSuite/signatures"},
		"re-encodes": {brokenConnector{PeerConnector: p, decode: func(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
			e, err := hub.ParseEnvelope(in.Body)
			if err == nil {
				in.Body = hub.AppendEnvelope(nil, e)
			}
			return validConnector().Decode(c, in)
		}}, "TestSuite/signatures"},
		"parses first": {brokenConnector{PeerConnector: p, decode: func(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
			if !json.Valid(in.Body) {
				return nil, hub.Errorf(hub.ErrMalformed, "malformed_json", "No.")
			}
			return validConnector().Decode(c, in)
		}}, "TestSuite/signatures"},
		"no secret, no check": {brokenConnector{PeerConnector: p, decode: parse(func(c hub.Connection, in hub.Inbound) bool { return c.Secret() == "" || signed(c, in) })}, "TestSuite/signatures"},
		"one secret only": {brokenConnector{PeerConnector: p, decode: func(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
			c.Secrets = c.Secrets[:min(1, len(c.Secrets))]
			return validConnector().Decode(c, in)
		}}, "TestSuite/signatures"},
		"keeps the body": {brokenConnector{PeerConnector: p, decode: func(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
			list, err := validConnector().Decode(c, in)
			if err == nil {
				list[0].Data = in.Body[strings.LastIndex(string(in.Body), `"data":`)+len(`"data":`) : len(in.Body)-1]
			}
			return list, err
		}}, "share the request's bytes"},
		"changes the headers": {brokenConnector{PeerConnector: p, decode: func(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
			list, err := validConnector().Decode(c, in)
			if err == nil && len(in.Header) > 0 && hmac.Equal(in.Body, hub.AppendEnvelope(nil, list[0])) {
				in.Header.Del("Content-Type")
			}
			return list, err
		}}, ""}, // "changed the headers", or a concurrent write first
		"time in the body": {brokenConnector{PeerConnector: p, encode: func(c hub.Connection, e hub.Event) (hub.Outbound, error) {
			e.CorrelationID = "c"
			e.Data = json.RawMessage(`{"at":"` + c.Now.String() + `"}`)
			return validConnector().Encode(c, e)
		}}, "same bytes"},
		"sends everything": {brokenConnector{PeerConnector: p, spec: func(s hub.Spec) hub.Spec { s.Sends = []string{"patient.*"}; return s }}, "An error is expected but got nil"},
		"unsigned": {brokenConnector{PeerConnector: p, encode: func(c hub.Connection, e hub.Event) (hub.Outbound, error) {
			out, err := validConnector().Encode(c, e)
			if err != nil {
				return hub.Outbound{URL: c.URL}, nil
			}
			return out, nil
		}}, "encode"},
		"key in the address": {brokenConnector{PeerConnector: p, encode: func(c hub.Connection, e hub.Event) (hub.Outbound, error) {
			out, err := validConnector().Encode(c, e)
			out.URL += "?key=" + c.Key
			return out, err
		}}, "addresses"},
		"starts a goroutine": {brokenConnector{PeerConnector: p, encode: func(c hub.Connection, e hub.Event) (hub.Outbound, error) {
			go func() { select {} }()
			return validConnector().Encode(c, e)
		}}, "starts no goroutines"},
		"own list":         {brokenConnector{PeerConnector: p, spec: func(s hub.Spec) hub.Spec { s.Receives = shared; return s }}, "returns its own list"},
		"no rate, no name": {brokenConnector{PeerConnector: p, spec: func(s hub.Spec) hub.Spec { s.Name = "Acme!"; return s }}, "spec"},
		"reads it all": {brokenConnector{PeerConnector: p, probe: status(func(res *http.Response, c hub.Connection) (hub.Status, error) {
			defer res.Body.Close()
			_, _ = io.CopyN(io.Discard, res.Body, 1<<20)
			return hub.Status{}, errors.New("too long")
		})}, "probe"},
		"never closes": {brokenConnector{PeerConnector: p, probe: status(func(res *http.Response, c hub.Connection) (hub.Status, error) {
			body, _ := io.ReadAll(io.LimitReader(res.Body, hub.MaxResponseBytes+1))
			answer := hub.Response{Status: res.StatusCode, Header: res.Header, Body: body}
			return hub.Status{Product: "acme", Active: true}, answer.StatusError()
		})}, "not closed"},
		"quotes the answer": {brokenConnector{PeerConnector: p, probe: status(func(res *http.Response, c hub.Connection) (hub.Status, error) {
			defer res.Body.Close()
			body, _ := io.ReadAll(io.LimitReader(res.Body, hub.MaxResponseBytes+1))
			if res.StatusCode != http.StatusOK {
				return hub.Status{}, hub.Errorf(hub.ErrInvalid, hub.CodeKeyRejected, "It said: %s", body)
			}
			answer := hub.Response{Status: 200, Body: body}
			var s struct{ Product, Status string }
			err := answer.DecodeJSON(&s)
			return hub.Status{Product: s.Product, Active: s.Status == "active"}, err
		})}, "shows a secret"},
		"believes everybody": {brokenConnector{PeerConnector: p, probe: func(ctx context.Context, do hub.Doer, c hub.Connection) (hub.Status, error) {
			s, err := validConnector().Probe(ctx, do, c)
			s.Product, s.Active = c.Product, true
			return s, err
		}}, "probe"},
		"own context": {brokenConnector{PeerConnector: p, probe: func(_ context.Context, do hub.Doer, c hub.Connection) (hub.Status, error) {
			return validConnector().Probe(context.Background(), do, c)
		}}, "caller's context"},
		"calls elsewhere": {brokenConnector{PeerConnector: p, probe: func(ctx context.Context, do hub.Doer, c hub.Connection) (hub.Status, error) {
			c.URL = "http://elsewhere.example"
			return validConnector().Probe(ctx, do, c)
		}}, "nobody but its peer"},
		"another id each time": {brokenConnector{PeerConnector: p, register: func(ctx context.Context, do hub.Doer, c hub.Connection, r hub.Registration) (hub.RegistrationResponse, error) {
			r.Features = append(slices.Clone(r.Features), hub.NewEventID())
			return validConnector().Register(ctx, do, c, r)
		}}, "byte for byte"},
	}
}

var shared = []string{"message.received"}

func TestSuiteFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	for name, b := range broken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), program, "-test.count=1")
			command.Env = append(os.Environ(), envBroken+"="+name)
			output, err := command.CombinedOutput()
			var failed *exec.ExitError
			require.ErrorAs(t, err, &failed, "the suite lets it pass:\n%s", output)
			require.Contains(t, string(output), b.output)
		})
	}
}
