package console_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

const page = "text/html,application/xhtml+xml,*/*;q=0.8" // what browsers accept for pages

// "precompressed, hashed assets cached immutable, index no-store, strict CSP without inline
// script/style, nosniff, frame-ancestors none".
func TestPageAndAssets(t *testing.T) {
	t.Parallel()
	c := start(t)
	index, text := c.call("GET", "/", nil, "Accept", page)
	require.Equal(t, 200, index.StatusCode)
	require.Equal(t, "no-store", index.Header.Get("Cache-Control"))
	require.Equal(t, "nosniff", index.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "DENY", index.Header.Get("X-Frame-Options"))
	policy := index.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
	require.Contains(t, policy, "frame-ancestors 'none'")
	require.NotContains(t, policy, "unsafe")
	nonce := regexp.MustCompile(`'nonce-([^']+)'`).FindStringSubmatch(policy)[1]
	require.Contains(t, text, `nonce="`+nonce+`"`)
	require.NotContains(t, text, "HUB-CSP-NONCE")
	again, _ := c.call("GET", "/", nil, "Accept", page)
	require.NotEqual(t, policy, again.Header.Get("Content-Security-Policy"), "each answer has a nonce of its own")
	require.NotRegexp(t, `<script[^>]*>[^<]|<style| style=| on[a-z]+=|https?://`, text)

	found := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(found), 3)
	for _, asset := range found {
		got, plain := c.call("GET", asset[1], nil, "Accept-Encoding", "identity")
		require.Equal(t, 200, got.StatusCode, asset[1])
		require.Equal(t, "public, max-age=31536000, immutable", got.Header.Get("Cache-Control"))
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		require.Empty(t, got.Header.Get("Content-Encoding"))
		compressed, packed := c.call("GET", asset[1], nil, "Accept-Encoding", "gzip, br")
		if strings.HasSuffix(asset[1], ".js") && len(plain) > 1000 {
			require.Equal(t, "gzip", compressed.Header.Get("Content-Encoding"), asset[1])
			require.Less(t, len(packed), len(plain))
		}
	}
	missing, text := c.call("GET", "/assets/nothing.js", nil)
	require.Equal(t, 404, missing.StatusCode)
	require.NotContains(t, text, "<!doctype")
	require.Equal(t, "no-store", missing.Header.Get("Cache-Control"))
}

// "SPA deep links work; unknown /api paths stay JSON 404; products' paths untouched; curl of /
// by programs remains sensible".
func TestDeepLinks(t *testing.T) {
	t.Parallel()
	c := start(t)
	for _, path := range []string{"/deliveries", "/deliveries/x?environment=test", "/login", "/nothing-here"} {
		response, text := c.call("GET", path, nil, "Accept", page)
		require.Equal(t, 200, response.StatusCode, path)
		require.Contains(t, text, `<div id="root">`, path)
		response, _ = c.call("GET", path, nil, "Accept", "*/*")
		require.Equal(t, 404, response.StatusCode, path)
		require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"), path)
	}
	for _, path := range []string{"/api/v1/nothing", "/api", "/metrics/nothing", "/health/nothing", "/docs/nothing"} {
		response, text := c.call("GET", path, nil, "Accept", page)
		require.Equal(t, 404, response.StatusCode, path)
		require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"), "%s: %s", path, text)
	}
	response, _ := c.call("POST", "/deliveries", nil, "Accept", page)
	require.NotEqual(t, 200, response.StatusCode)
	response, _ = c.call("GET", "/", nil, "Accept", "*/*")
	require.Equal(t, 302, response.StatusCode)
	require.Equal(t, "/docs", response.Header.Get("Location"))
	require.Contains(t, response.Header.Get("Vary"), "Accept")
}

// "Secure where https": the cookie's name then keeps other hosts from setting it.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	c := start(t, "HUB_PUBLIC_URL=https://hub.example.com")
	response, _ := c.call("POST", "/api/v1/session", object{"email": adminEmail, "password": adminPassword})
	require.Equal(t, 200, response.StatusCode)
	require.Regexp(t, `^__Host-hub_session=hubs_[^;]+; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict$`, response.Header.Get("Set-Cookie"))
	cookie, _, _ := strings.Cut(response.Header.Get("Set-Cookie"), ";")
	c.ok(200, "GET", "/session", nil, "Cookie", cookie)
	c.ok(401, "GET", "/session", nil, "Cookie", strings.TrimPrefix(cookie, "__Host-"))
}

// "bundle budget: whole <= 350 kB gzip of JavaScript" for operators. What only products'
// accounts load has a budget of its own. The browser test measures the first screen.
func TestBudget(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join(hubtest.ModuleRoot(), "hub", "console", "dist", "assets", "*.js"))
	require.NoError(t, err)
	require.Greater(t, len(scripts), 5)
	operators, accounts := 0, 0
	for _, script := range scripts {
		content, err := os.ReadFile(script)
		require.NoError(t, err)
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		if strings.HasPrefix(filepath.Base(script), "account-") {
			accounts += b.Len()
		} else {
			operators += b.Len()
		}
	}
	t.Logf("%d bytes for operators, %d more for accounts, in %d scripts", operators, accounts, len(scripts))
	require.LessOrEqual(t, operators, 350_000)
	require.NotZero(t, accounts)
	require.LessOrEqual(t, accounts, 100_000)
}

// "License check: MIT/Apache/BSD/ISC only", of the packages that are in the build. Their texts
// are part of it.
func TestLicenses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(hubtest.ModuleRoot(), "hub", "console", "dist", "licenses.md"))
	require.NoError(t, err)
	packages := regexp.MustCompile(`(?m)^## (\S+) - (\S+) \((.+)\)$`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(packages), 15)
	for _, found := range packages {
		require.Contains(t, []string{"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC"}, found[3], found[1])
	}
	lock, err := os.ReadFile(filepath.Join(hubtest.ModuleRoot(), "hub", "console", "package-lock.json"))
	require.NoError(t, err)
	require.NotContains(t, string(lock), `"resolved"`, "the lock file names no registry")
	mantine := regexp.MustCompile(`"node_modules/@mantine/[^"]+": \{\s+"version": "([^"]+)"`).FindAllStringSubmatch(string(lock), -1)
	require.NotEmpty(t, mantine)
	for _, version := range mantine {
		require.Equal(t, mantine[0][1], version[1], "every @mantine package has the same version")
	}
}
