package files_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/files"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module"
)

const public = "https://hub.example.com"

func open(t *testing.T, address string) *files.Store {
	t.Helper()
	s, err := files.Open(t.Context(), address, public)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// newApp returns a hub that serves a store.
func newApp(s *files.Store) *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, ErrorHandler: httpx.ErrorHandler(slog.New(slog.DiscardHandler))})
	app.Use(httpx.Headers(public))
	app.Get(files.Path+"/*", s.Serve)
	return app
}

// response is an HTTP response with its body read.
type response struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, app *fiber.App, path string, headers ...string) response {
	t.Helper()
	req := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := app.Test(req, -1)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(body)}
}

func TestDirectoryStoresFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b", "files")
	requireStoresFiles(t, "file://"+strings.ReplaceAll(dir, " ", "%20"))
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		require.True(t, entry.IsDir(), "%s was not removed", path)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	}))
}

// requireStoresFiles requires what every kind of store has to do.
func requireStoresFiles(t *testing.T, address string) {
	t.Helper()
	s := open(t, address)
	app, productFiles := newApp(s), s.For("scheduling")
	for mediaType, extension := range map[string]string{"image/png": ".png", "image/jpeg": ".jpg"} {
		content := []byte(mediaType + strings.Repeat("\x00\xff", 30_000))
		name, err := productFiles.Put(t.Context(), module.Picture{Type: mediaType, Content: content})
		require.NoError(t, err)
		require.Regexp(t, `^[0-9a-f-]{36}\`+extension+`$`, name)
		other, err := productFiles.Put(t.Context(), module.Picture{Type: mediaType, Content: content})
		require.NoError(t, err)
		require.NotEqual(t, name, other)
		path, found := strings.CutPrefix(productFiles.URL(name), public)
		require.True(t, found)

		got := get(t, app, path)
		require.Equal(t, 200, got.status)
		require.Equal(t, string(content), got.body)
		require.Equal(t, mediaType, got.header.Get("Content-Type"))
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		require.Equal(t, "default-src 'none'; sandbox", got.header.Get("Content-Security-Policy"))
		require.Equal(t, "public, max-age=31536000, immutable", got.header.Get("Cache-Control"))
		got = get(t, app, path, "If-None-Match", got.header.Get("ETag"))
		require.Equal(t, 304, got.status)
		require.Empty(t, got.body)

		require.NoError(t, s.For("clinic").Delete(t.Context(), name))
		got = get(t, app, path)
		require.Equal(t, 200, got.status, "a product deletes its own")
		for _, deleted := range []string{name, other, name, "../scheduling/" + name, ""} {
			require.NoError(t, productFiles.Delete(t.Context(), deleted))
		}
		got = get(t, app, path)
		require.Equal(t, 404, got.status)
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
		require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	}
	for _, mediaType := range []string{"", "image/svg+xml", "text/html", "image/webp"} {
		_, err := productFiles.Put(t.Context(), module.Picture{Type: mediaType, Content: []byte("x")})
		require.ErrorIs(t, err, hub.ErrUnsupportedMediaType)
	}
}

func TestOnlyGeneratedNamesAreServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := newApp(open(t, "file://"+filepath.Join(dir, "files")))
	const name = "/12345678-1234-4234-8234-123456789abc"
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "files", "scheduling"), 0o700))
	for _, file := range []string{"secret.png", "files/secret.png", "files/scheduling/secret.png", "files/scheduling" + name + ".png", "files/scheduling" + name + ".html"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("secret"), 0o600))
	}
	got := get(t, app, "/files/scheduling"+name+".png")
	require.Equal(t, 200, got.status)
	for _, path := range []string{
		"/files/", "/files/scheduling", "/files/scheduling/", "/files/secret.png", "/files/scheduling/secret.png", "/files/scheduling" + name + ".html",
		"/files/../secret.png", "/files/%2e%2e/secret.png", "/files/scheduling/..%2f..%2fsecret.png", "/files/scheduling" + name + ".png%00.html",
		"/files/scheduling" + name + ".png/", "/files/scheduling//" + name + ".png", "/files/SCHEDULING" + name + ".png", "/files/scheduling" + name + ".png%0a",
		"/files/clinic" + name + ".png", "/files/scheduling" + strings.ToUpper(name) + ".png",
	} {
		got := get(t, app, path)
		require.Equal(t, 404, got.status, path)
		require.NotContains(t, got.body, "secret", path)
	}
}

func TestInvalidStoreAddresses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, address := range []string{"", "uploads", "gs://bucket", "mem://", "file://uploads", "file://host/dir", "file:///tmp?x=y", "file://" + file, "s3://", "s3://b?nonsense=1", "://"} {
		_, err := files.Open(t.Context(), address, public)
		require.Error(t, err, address)
	}
}

// bucket is a fake S3-compatible store with PutObject, GetObject, HeadObject and
// DeleteObject.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	types   map[string]string
	broken  bool
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, found := b.objects[r.URL.Path]
	switch {
	case b.broken:
		b.refuse(w, 403, "AccessDenied")
	case !strings.HasPrefix(r.URL.Path, "/uploads/"):
		b.refuse(w, 404, "NoSuchBucket")
	case r.Method == http.MethodPut:
		raw, _ := io.ReadAll(r.Body)
		b.objects[r.URL.Path], b.types[r.URL.Path] = unchunk(raw, r.Header.Get("Content-Encoding")), r.Header.Get("Content-Type")
		w.Header().Set("ETag", `"1"`)
	case r.Method == http.MethodDelete:
		delete(b.objects, r.URL.Path)
		w.WriteHeader(204)
	case !found:
		b.refuse(w, 404, "NoSuchKey")
	default:
		w.Header().Set("Content-Type", b.types[r.URL.Path])
		http.ServeContent(w, r, "", time.Now(), bytes.NewReader(content))
	}
}

func (b *bucket) refuse(w http.ResponseWriter, code int, name string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(code)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: name})
}

// unchunk removes the lengths and checksums of aws-chunked bodies.
func unchunk(raw []byte, encoding string) []byte {
	if !strings.Contains(encoding, "aws-chunked") {
		return raw
	}
	var out []byte
	for {
		head, rest, _ := bytes.Cut(raw, []byte("\r\n"))
		var size int
		for _, c := range strings.SplitN(string(head), ";", 2)[0] {
			size = size*16 + strings.IndexRune("0123456789abcdef", c)
		}
		if size == 0 {
			return out
		}
		out, raw = append(out, rest[:size]...), rest[size+2:]
	}
}

func TestBucketStoresFiles(t *testing.T) {
	t.Parallel()
	b := &bucket{objects: map[string][]byte{}, types: map[string]string{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	address := "s3://uploads?region=sa-east-1&anonymous=true&use_path_style=true&endpoint=" + server.URL
	requireStoresFiles(t, address)
	require.Empty(t, b.objects)
	require.Len(t, b.types, 4)
	for path, kind := range b.types {
		require.Equal(t, strings.HasSuffix(path, ".png"), kind == "image/png", path)
	}
	s := open(t, address)
	b.mu.Lock()
	b.broken = true
	b.mu.Unlock()
	_, err := s.For("scheduling").Put(t.Context(), module.Picture{Type: "image/png", Content: []byte("x")})
	require.ErrorIs(t, err, hub.ErrUnavailable)
	name := "12345678-1234-4234-8234-123456789abc.png"
	require.ErrorIs(t, s.For("scheduling").Delete(t.Context(), name), hub.ErrUnavailable)
	got := get(t, newApp(s), "/files/scheduling/"+name)
	require.Equal(t, 503, got.status)
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
}
