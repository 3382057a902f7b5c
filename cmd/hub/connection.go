package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"integrationhub/cmd/hub/internal/client"
)

// defaultURL is the default address of a hub.
const defaultURL = "http://127.0.0.1:8080"

// connection is the address of a hub and the credentials for it.
type connection struct {
	url            string
	tokens         client.Tokens // nil: none known
	source         string        // where it comes from, for people
	invalidURLCode int           // exit code when the address turns out to be none
	others         []string      // the addresses that there are credentials for, where tokens is nil
}

// resolveConnection returns the connection from flags and variables, else from the saved
// login, else from the hub on this machine. Credentials for one address are never sent to
// another.
func (a *app) resolveConnection() (connection, error) {
	address := strings.TrimRight(a.setting(a.url, "HUB_URL"), "/")
	address = strings.TrimSuffix(address, apiPath) // of an address copied from an API call
	given := a.setting(a.token, "HUB_TOKEN")
	token, err := a.secret(given)
	if err != nil {
		return connection{}, err
	}
	if given != "" && token == "" { // the saved login would be another identity
		return connection{}, usagef("the token is empty")
	}
	var tokens client.Tokens
	if token != "" {
		tokens = client.StaticToken(token)
	}
	if address != "" && tokens != nil {
		return connection{url: address, tokens: tokens, source: "--url or HUB_URL", invalidURLCode: exitUsage}, nil
	}
	saved, err := a.loadCredentials()
	if err != nil {
		return connection{}, err
	}
	local, err := a.readLocalHub()
	if err != nil {
		return connection{}, err
	}
	target := connection{url: address, source: "--url or HUB_URL", invalidURLCode: exitUsage}
	if address == "" {
		target.invalidURLCode = exitConfig
		switch {
		case saved.Current != "":
			target.url, target.source = saved.Current, "the saved login"
		case local != nil:
			target.url, target.source = local.URL, a.localPath()
		default:
			target.url, target.source = defaultURL, "the default"
		}
	}
	_, loggedIn := saved.Logins[target.url]
	switch {
	case tokens != nil:
		target.tokens = tokens
	case loggedIn:
		target.tokens = &savedTokens{app: a, url: target.url}
	case local != nil && (local.URL == target.url || isSameLoopback(local.URL, target.url)):
		target.url, target.tokens = local.URL, localTokens{a} // the token goes to where it is for
	default:
		target.others = slices.Sorted(maps.Keys(saved.Logins))
		if local != nil && !slices.Contains(target.others, local.URL) {
			target.others = append(target.others, local.URL)
		}
	}
	return target, nil
}

// apiPath is where the API is below the address of a hub.
const apiPath = "/api/v1"

// isSameLoopback reports whether two URLs are spellings of the same address on this machine:
// the scheme and port are equal, and one host is localhost, the other what it stands for.
func isSameLoopback(a, b string) bool {
	first, errFirst := url.Parse(a)
	second, errSecond := url.Parse(b)
	if errFirst != nil || errSecond != nil || !isLoopback(a) || !isLoopback(b) {
		return false
	}
	hosts := []string{strings.ToLower(first.Hostname()), strings.ToLower(second.Hostname())}
	isLocalhost := slices.Contains(hosts, "localhost") && (slices.Contains(hosts, "127.0.0.1") || slices.Contains(hosts, "::1"))
	return first.Scheme == second.Scheme && first.Port() == second.Port() && first.Path == second.Path && isLocalhost
}

// localHub is what `hub serve` writes into its data directory for the commands on
// the same machine.
type localHub struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

func (a *app) localPath() string {
	dir := a.setting(a.dataDir, "HUB_DATA_DIR")
	if dir == "" {
		dir = "data"
	}
	return filepath.Join(dir, "local.json")
}

// readLocalHub reads local.json; it returns nil if there is none to read. Only a loopback
// address is accepted: another user may own the directory.
func (a *app) readLocalHub() (*localHub, error) {
	path := a.localPath()
	raw, err := os.ReadFile(a.path(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		a.note("%s belongs to another user and is left alone", path)
		return nil, nil
	case err != nil:
		return nil, configf("reading the hub on this machine: %w", err)
	}
	var local localHub
	if err := json.Unmarshal(raw, &local); err != nil {
		return nil, configf("reading %s: %w", path, err)
	}
	local.URL = strings.TrimRight(local.URL, "/")
	if !isLoopback(local.URL) {
		return nil, configf("reading %s: its url is not on this machine", path)
	}
	return &local, nil
}

// isLoopback reports whether a URL has a loopback host.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// localTokens reads the token anew for each call: a restarted hub writes a new one.
type localTokens struct{ app *app }

// Token implements [client.Tokens].
func (t localTokens) Token(context.Context) (string, error) {
	local, err := t.app.readLocalHub()
	if err != nil {
		return "", err
	}
	if local == nil || local.Token == "" {
		return "", client.ErrNotLoggedIn
	}
	return local.Token, nil
}

// Renew implements [client.Tokens].
func (t localTokens) Renew(ctx context.Context, stale string) (string, error) {
	token, err := t.Token(ctx)
	if err == nil && token == stale {
		return "", client.ErrNoRenewal
	}
	return token, err
}

// notLoggedInHint says what to do where the hub that was asked for has no credentials here.
func (a *app) notLoggedInHint() string {
	var lines []string
	if target, err := url.Parse(a.target.url); err == nil && target.Port() != "" {
		dialer := net.Dialer{Timeout: reachTimeout}
		conn, err := dialer.DialContext(context.Background(), "tcp", target.Host)
		switch {
		case err == nil:
			_ = conn.Close()
		case errors.Is(err, syscall.ECONNREFUSED):
			lines = append(lines, "nothing listens at "+a.target.url+" (from "+a.target.source+")")
		}
	}
	if len(a.target.others) == 0 {
		lines = append(lines, "start a hub on this machine with: make run (name its --data-dir where it is not ./data), or log in to another: hub login --url URL")
	} else {
		lines = append(lines, "the credentials here are for "+strings.Join(a.target.others, ", ")+", not for "+a.target.url+"; log in there with: hub login --url "+a.target.url)
	}
	return strings.Join(lines, "\n")
}

// reachTimeout is how long a hint waits to learn whether something listens at an address.
const reachTimeout = time.Second
