// Package files stores uploads in a directory or in a bucket of an S3-compatible store.
// Names are generated; only pictures that this program encoded are served.
package files

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // the scheme s3; other stores' drivers would double the program
	"gocloud.dev/gcerrors"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Path is the path below which pictures are served: Path/<product>/<name>.
const Path = "/files"

// extensions maps the media types that are stored to file name extensions.
var extensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}

// Store stores files. It is safe for concurrent use.
type Store struct {
	bucket *blob.Bucket
	base   string
	dir    string // of the files; "" for a bucket elsewhere
}

// Open opens the store at file:///a/directory, which is created if it is missing, or at
// s3://bucket?region=…. public is the hub's public URL, without a slash at the end. The
// caller closes the store.
func Open(ctx context.Context, address, public string) (*Store, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "file" && parsed.Scheme != "s3" {
		return nil, errors.New("opening the store of uploads: HUB_BLOB_URL must begin with file:// or s3://")
	}
	if parsed.Scheme == "file" {
		if parsed.Host != "" || !filepath.IsAbs(filepath.FromSlash(parsed.Path)) || parsed.RawQuery != "" {
			return nil, errors.New("opening the store of uploads: HUB_BLOB_URL must be like file:///var/lib/hub/files, with three slashes")
		}
		return openDirectory(filepath.FromSlash(parsed.Path), public)
	}
	bucket, err := blob.OpenBucket(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("opening the store of uploads: %w", err)
	}
	return newStore(bucket, public), nil
}

func newStore(bucket *blob.Bucket, public string) *Store {
	return &Store{bucket: bucket, base: public + Path + "/"}
}

// Close closes the connection to the store.
func (s *Store) Close() error { return s.bucket.Close() }

// For returns the store as it is provided to a product.
func (s *Store) For(product string) module.Files { return files{s, product} }

type files struct {
	store   *Store
	product string
}

// Put implements [module.Files].
func (f files) Put(ctx context.Context, p module.Picture) (string, error) {
	extension, supported := extensions[p.Type]
	if !supported {
		return "", hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type", "Only PNG and JPEG pictures are kept.")
	}
	name := uuid.NewString() + extension
	key := f.product + "/" + name
	err := f.store.makeDirFor(key)
	if err == nil {
		err = f.store.bucket.WriteAll(ctx, key, p.Content, &blob.WriterOptions{ContentType: p.Type, BeforeWrite: f.store.beforeWrite})
	}
	if err == nil {
		err = f.store.sync(key)
	}
	if err != nil {
		return "", storeUnavailable(fmt.Errorf("storing an upload: %w", err))
	}
	return name, nil
}

// URL implements [module.Files].
func (f files) URL(name string) string { return f.store.base + f.product + "/" + name }

// Delete implements [module.Files].
func (f files) Delete(ctx context.Context, name string) error {
	if !generated.MatchString(f.product + "/" + name) {
		return nil
	}
	if err := f.store.bucket.Delete(ctx, f.product+"/"+name); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return storeUnavailable(fmt.Errorf("deleting an upload: %w", err))
	}
	return nil
}

// generated matches the keys of stored files; nothing else is looked up.
var generated = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.(png|jpg)$`)

// Serve answers GET [Path]/<product>/<name>. The file of a name never changes.
func (s *Store) Serve(c *fiber.Ctx) error {
	key := strings.TrimPrefix(c.Path(), Path+"/")
	if !generated.MatchString(key) {
		return fileNotFound()
	}
	tag := `"` + key[strings.IndexByte(key, '/')+1:] + `"`
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	c.Set(fiber.HeaderETag, tag)
	if c.Get(fiber.HeaderIfNoneMatch) == tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	content, err := s.bucket.ReadAll(c.UserContext(), key)
	if err != nil {
		c.Response().Header.Del(fiber.HeaderETag)
		c.Set(fiber.HeaderCacheControl, "no-store")
		if gcerrors.Code(err) == gcerrors.NotFound {
			return fileNotFound()
		}
		return storeUnavailable(fmt.Errorf("reading an upload: %w", err))
	}
	c.Set(fiber.HeaderContentType, "image/"+map[bool]string{true: "png", false: "jpeg"}[strings.HasSuffix(key, ".png")])
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; sandbox")
	c.Set("Cross-Origin-Resource-Policy", "cross-origin") // booking pages are embedded in the customers' sites
	return c.Send(content)
}

func fileNotFound() *hub.Error {
	return hub.Errorf(hub.ErrNotFound, "not_found", "There is no such file.")
}

func storeUnavailable(cause error) *hub.Error {
	return hub.Errorf(hub.ErrUnavailable, "files_unavailable", "The store of uploads does not respond right now; try again.").WithCause(cause)
}
