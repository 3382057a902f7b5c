package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"integrationhub/cmd/hub/internal/client"
)

// credentials are the saved logins, by address of the hub.
type credentials struct {
	Current string           `json:"current"` // the address logged in to last
	Logins  map[string]login `json:"logins"`
}

// login is one saved login.
type login struct {
	Email        string    `json:"email"`
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	ExpiresAt    time.Time `json:"expires_at"` // of the access token
}

// expirySlack is how long before its end an access token is renewed.
const expirySlack = 30 * time.Second

func (a *app) credentialsPath() (string, error) {
	dir := a.getenv("XDG_CONFIG_HOME") // the same on every system
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", configf("finding the configuration directory (set XDG_CONFIG_HOME): %w", err)
		}
	}
	return filepath.Join(dir, "hub", "credentials.json"), nil
}

// loadCredentials reads the saved logins; there are none without a file.
func (a *app) loadCredentials() (credentials, error) {
	saved := credentials{}
	path, err := a.credentialsPath()
	if err != nil {
		return saved, nil // no home directory, no saved logins
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, configf("reading the saved logins: %w", err)
	}
	if err := json.Unmarshal(raw, &saved); err != nil {
		return saved, &failure{
			code: exitConfig, err: fmt.Errorf("reading %s: %w", path, err),
			hint: "delete the file and log in again",
		}
	}
	return saved, nil
}

// changeCredentials changes the saved logins under a file lock and replaces the file, which
// only this user may read.
func (a *app) changeCredentials(change func(*credentials) error) error {
	path, err := a.credentialsPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return configf("saving the login: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return configf("locking the saved logins: %w", err)
	}
	defer func() { _ = lock.Close() }() // closing unlocks
	if err := flock(lock); err != nil {
		return configf("locking the saved logins: %w", err)
	}
	saved, err := a.loadCredentials()
	if err != nil {
		return err
	}
	if saved.Logins == nil {
		saved.Logins = map[string]login{}
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, nil, 0o600); err != nil { // before the hub replaces a token
		return configf("saving the login: %w", err)
	}
	if err := change(&saved); err != nil {
		_ = os.Remove(temp)
		return err
	}
	raw, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the saved logins: %w", err)
	}
	if err := os.WriteFile(temp, append(raw, '\n'), 0o600); err != nil {
		return configf("saving the login: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return configf("saving the login: %w", err)
	}
	return nil
}

func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// savedTokens returns the access token of a saved login and renews it. The lock keeps two
// processes from using one refresh token twice.
type savedTokens struct {
	app *app
	url string
}

// Token implements [client.Tokens].
func (t *savedTokens) Token(ctx context.Context) (string, error) {
	saved, err := t.app.loadCredentials()
	if err != nil {
		return "", err
	}
	login, ok := saved.Logins[t.url]
	if !ok {
		return "", client.ErrNotLoggedIn
	}
	if t.app.now().Before(login.ExpiresAt.Add(-expirySlack)) {
		return login.AccessToken, nil
	}
	return t.Renew(ctx, login.AccessToken)
}

// Renew implements [client.Tokens].
func (t *savedTokens) Renew(ctx context.Context, stale string) (string, error) {
	var token string
	err := t.app.changeCredentials(func(saved *credentials) error {
		current, ok := saved.Logins[t.url]
		if !ok {
			return client.ErrNotLoggedIn
		}
		if current.AccessToken != stale {
			token = current.AccessToken
			return nil
		}
		renewing, cancel := outlive(ctx) // the hub replaces the token, and must not be the only place of the new one
		defer cancel()
		session, err := t.refresh(renewing, current.RefreshToken)
		if err != nil {
			return err
		}
		saved.Logins[t.url] = loginOf(session, t.app.now())
		token = session.AccessToken
		return nil
	})
	return token, err
}

func (t *savedTokens) refresh(ctx context.Context, refreshToken string) (client.Session, error) {
	c, err := client.New(t.url, client.Options{Agent: "hub-cli/" + versionName()})
	if err != nil {
		return client.Session{}, configf("the saved login's address is %w", err)
	}
	reply, err := c.Refresh(ctx, refreshToken)
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusUnauthorized && !problem.IsForeign {
		return client.Session{}, &failure{
			code: exitAuth, err: fmt.Errorf("the login at %s has ended", t.url),
			hint: "log in again with: hub login --url " + t.url + " (or forget it with: hub logout)",
		}
	}
	return reply.Value, err
}

func loginOf(session client.Session, now time.Time) login {
	return login{
		Email:        session.Operator.Email,
		AccessToken:  session.AccessToken,
		RefreshToken: session.RefreshToken,
		ExpiresAt:    session.Ends(now).UTC(),
	}
}
