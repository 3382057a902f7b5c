package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"integrationhub/cmd/hub/internal/client"
)

// defaultURL is where a hub listens that was given no address.
const defaultURL = "http://127.0.0.1:8080"

// connection says which hub to call and with what right.
type connection struct {
	url    string
	tokens client.Tokens // nil: none known
	source string        // where it comes from, for people
	badURL int           // exit code when the address turns out to be none
}

// connection decides it: flags and variables, else the saved login, else the hub on
// this machine. A right that was given for one address is never sent to another.
func (a *app) connection() (connection, error) {
	address := strings.TrimRight(a.setting(a.url, "HUB_URL"), "/")
	token, err := a.secret(a.setting(a.token, "HUB_TOKEN"))
	if err != nil {
		return connection{}, err
	}
	var tokens client.Tokens
	if token != "" {
		tokens = client.StaticToken(token)
	}
	if address != "" && tokens != nil {
		return connection{address, tokens, "--url or HUB_URL", exitUsage}, nil
	}
	saved, err := a.loadCredentials()
	if err != nil {
		return connection{}, err
	}
	local, err := a.localHub()
	if err != nil {
		return connection{}, err
	}
	to := connection{url: address, source: "--url or HUB_URL", badURL: exitUsage}
	if address == "" {
		to.badURL = exitConfig
		switch {
		case saved.Current != "":
			to.url, to.source = saved.Current, "the saved login"
		case local != nil:
			to.url, to.source = local.URL, a.localPath()
		default:
			to.url, to.source = defaultURL, "the default"
		}
	}
	_, loggedIn := saved.Logins[to.url]
	switch {
	case tokens != nil:
		to.tokens = tokens
	case loggedIn:
		to.tokens = &savedTokens{app: a, url: to.url}
	case local != nil && local.URL == to.url:
		to.tokens = localTokens{a}
	}
	return to, nil
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

// localHub reads local.json; nil where there is none to read. Only an address on
// this machine is believed: the file may lie in somebody else's directory.
func (a *app) localHub() (*localHub, error) {
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

// isLoopback reports whether an address names this machine.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// localTokens reads the token anew each time, for a restarted hub writes a new one.
type localTokens struct{ app *app }

// Token implements [client.Tokens].
func (t localTokens) Token(context.Context) (string, error) {
	local, err := t.app.localHub()
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
