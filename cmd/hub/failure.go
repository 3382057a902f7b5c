package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// Exit codes.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitConfig   = 3 // configuration, or a finding of doctor
	exitAuth     = 4 // not logged in, or not allowed
	exitNotFound = 5
	exitPartial  = 6 // some of it was done
)

// failure is an error with its exit code and what to do about it.
type failure struct {
	code int
	err  error
	hint string // "" = none
}

// Error implements error.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func usagef(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

func configf(format string, args ...any) error {
	return &failure{code: exitConfig, err: fmt.Errorf(format, args...)}
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var coded *failure
	var problem *client.Problem
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, client.ErrNotLoggedIn):
		return exitAuth
	case errors.As(err, &problem) && !problem.IsForeign:
		switch problem.Status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return exitAuth
		case http.StatusNotFound:
			return exitNotFound
		}
	}
	return exitFailure
}

// report prints an error, the inputs that were refused, and what to do.
func (a *app) report(err error) {
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = interruptedText(text)
	}
	first, rest, _ := strings.Cut(text, "\n")
	_, _ = fmt.Fprintf(a.err, "%s %s\n", a.errPaint(red, "error:"), terminal.Printable(first))
	for line := range strings.SplitSeq(rest, "\n") { // indented, so that no response of a server can pass for one of ours
		if line = strings.TrimSpace(line); line != "" {
			_, _ = fmt.Fprintf(a.err, "  %s\n", terminal.Printable(line))
		}
	}
	var problem *client.Problem
	if errors.As(err, &problem) {
		for _, field := range problem.Errors {
			_, _ = fmt.Fprintf(a.err, "  %s: %s\n", terminal.Printable(field.Location), terminal.Printable(field.Message))
		}
	}
	if hint := a.hint(err); hint != "" {
		_, _ = fmt.Fprintln(a.err, hint)
	}
}

// interruptedText says that a command was interrupted, and at what.
func interruptedText(text string) string {
	var doing []string
	for part := range strings.SplitSeq(text, ": ") {
		if part != context.Canceled.Error() {
			doing = append(doing, part)
		}
	}
	switch {
	case len(doing) == 0:
		return "interrupted"
	case strings.HasPrefix(doing[0], "interrupted"):
		return strings.Join(doing, ": ")
	}
	return "interrupted: " + strings.Join(doing, ": ")
}

// hint returns what to do about an error, or "".
func (a *app) hint(err error) string {
	var coded *failure
	if errors.As(err, &coded) && coded.hint != "" {
		return coded.hint
	}
	var problem *client.Problem
	var connectErr *client.ConnectError
	var notHub *client.NotHubError
	switch {
	case errors.As(err, &notHub), errors.As(err, &problem) && problem.IsForeign && problem.Status < http.StatusInternalServerError:
		return fmt.Sprintf("check --url (HUB_URL): it is the address of the hub, here from %s; an endpoint's address is --endpoint-url", a.target.source)
	case errors.As(err, &connectErr) && errors.Is(err, syscall.ECONNREFUSED):
		return "is the hub running? start it with: make run"
	case errors.Is(err, client.ErrNotLoggedIn):
		return a.notLoggedInHint()
	case !errors.As(err, &problem):
		return ""
	}
	if hint := peerHint(problem); hint != "" {
		return hint
	}
	if hint := suspensionHint(problem); hint != "" {
		return hint
	}
	switch {
	case problem.Code == "url_not_allowed" && strings.Contains(problem.Detail, "network"):
		return "the hub's egress rules refuse this address; its setting HUB_EGRESS_ALLOW opens named networks"
	case problem.Code == "url_not_allowed" && strings.Contains(problem.Detail, "loopback"):
		return "in production no setting opens loopback: give the address that the receiver has in a network, which the hub's HUB_EGRESS_ALLOW can open"
	case problem.Code == "other_account_connected":
		return "find the integration with: hub integrations list, and end it with: hub integrations revoke ID"
	case problem.Status == http.StatusUnauthorized && a.usedKey:
		return "the key is unknown, revoked or expired: check HUB_KEY, or make one with: hub keys create"
	case problem.Status == http.StatusUnauthorized:
		return "log in with: hub login"
	case problem.Status == http.StatusForbidden && a.usedKey:
		return "the key lacks the scope; make one with it: hub keys create --scope …"
	case problem.Status == http.StatusForbidden:
		return "this needs an operator with the role admin"
	case problem.RetryAfter > 0:
		return fmt.Sprintf("try again in %s", problem.RetryAfter)
	}
	return ""
}

// suspensionHint returns what to do about an error that comes from a tenant's state, or "".
func suspensionHint(problem *client.Problem) string {
	switch problem.Code {
	case "tenant_suspended":
		return "operators end a suspension with: hub tenants resume TENANT"
	case "tenant_not_suspended":
		return "suspend it first: hub tenants suspend TENANT"
	}
	return ""
}

// peerHint returns what to do about an error of a peer, or "".
func peerHint(problem *client.Problem) string {
	switch problem.Reason {
	case "name_unknown":
		return "check the spelling of API_URL's host, and that its DNS record exists"
	case "connection_refused":
		return "check the port of API_URL, and that the other product runs there"
	case "tls":
		return "check that API_URL's scheme and host are those of the certificate"
	case "wrong_address":
		return "API_URL is the base above the other product's /integrations and usually ends in /api/v1"
	}
	switch problem.Code {
	case "peer_answer":
		return "API_URL is the base above the other product's /integrations and usually ends in /api/v1"
	case "unexpected_product":
		if problem.Reason == "not_asked" {
			return "name the other product: --peer"
		}
		return "check API_URL, or name the product that responds there: --peer"
	case "remote_key_rejected":
		return "the address is right and the key is not: have the other product's administrator issue another one (HUB_PEER_KEY)"
	case "environment_mismatch":
		return "live keys go with --environment live, test keys with --environment test"
	}
	return ""
}
