package media

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/filetype"
	"integrationhub/messaging/internal/store"
)

const (
	signatureLife   = time.Hour        // of a signed address
	downloadTimeout = 15 * time.Second // of a file that a request waits for
)

// URL returns the address of a file, which asks for the token of a user.
func (s *Service) URL(id string) string { return s.host.URLs.Base + "/media/" + id }

// SignedURL returns an address of a file that is valid for an hour, for networks.
func (s *Service) SignedURL(id string) string {
	expires := strconv.FormatInt(s.host.Now().Add(signatureLife).Unix(), 10)
	return s.URL(id) + "?signature=" + expires + "-" + s.sign(id, expires)
}

func (s *Service) sign(id, expires string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + " " + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

// IsSigned reports whether a signature is that of a file, and still valid.
func (s *Service) IsSigned(id, signature string) bool {
	expires, mac, _ := strings.Cut(signature, "-")
	until, err := strconv.ParseInt(expires, 10, 64)
	return err == nil && hmac.Equal([]byte(mac), []byte(s.sign(id, expires))) && s.host.Now().Unix() < until
}

// Link is a file at an address.
type Link struct {
	URL   string
	Media chat.MediaType // that it has to be; "" = any
	Name  string         // "" = as the address says
	User  *int64         // see [Upload]
	// MayRead returns an error if one of the company's own files must not be used; nil = every one
	// may. It is not asked where the address has a signature.
	MayRead MayRead
}

// MayRead returns an error if a file must not be read.
type MayRead func(ctx context.Context, file store.MediaFile) error

// Fetch returns the file at an address: one of the company's own files, or a copy of what
// is there. Errors for callers are those of [Service.Store], [hub.ErrNotFound] for a file
// of another company, a 400 if the address does not answer with a file, and a
// [hub.ErrRateLimited] while the company fetches as many files as it may.
func (s *Service) Fetch(ctx context.Context, company int64, link Link) (store.MediaFile, error) {
	if file, isOwn, err := s.ownFile(ctx, company, link.URL, link.MayRead); isOwn {
		if err == nil && link.Media != "" && link.Media != file.MediaType && link.Media != chat.MediaDocument {
			err = hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type", "The file at mediaUrl is of the type %s.", file.MediaType)
		}
		return file, err
	}
	parsed, err := url.Parse(link.URL)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil {
		return store.MediaFile{}, hub.Invalid("body.mediaUrl", "must be an absolute http(s) URL")
	}
	leave, err := s.downloads.Enter(ctx, strconv.FormatInt(company, 10))
	if errors.Is(err, hub.ErrRateLimited) {
		limited := hub.Errorf(hub.ErrRateLimited, "too_many_downloads", "The hub fetches %d files for the company already.", downloadLimits.MaxActive)
		limited.RetryAfter = retryDownload
		return store.MediaFile{}, limited
	}
	if err != nil {
		return store.MediaFile{}, err
	}
	defer leave()
	return s.download(ctx, company, parsed, link)
}

// CheckAddress returns a [hub.ErrNotFound] for an address of this product without a file of
// the company, and what mayRead says of others of this product.
func (s *Service) CheckAddress(ctx context.Context, company int64, address string, mayRead MayRead) error {
	_, _, err := s.ownFile(ctx, company, address, mayRead)
	return err
}

// ownFile returns the file at an address of this product; for other addresses isOwn is
// false. A file of another company is a [hub.ErrNotFound].
func (s *Service) ownFile(ctx context.Context, company int64, address string, mayRead MayRead) (file store.MediaFile, isOwn bool, err error) {
	id, isOwn := s.ownID(address)
	if !isOwn {
		return file, false, nil
	}
	file, err = s.store.MediaFile(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && file.CompanyID != company {
		return store.MediaFile{}, true, hub.Errorf(hub.ErrNotFound, "no_media_found", "There is no file at mediaUrl.")
	}
	if err == nil && mayRead != nil && !s.hasSignature(id, address) {
		err = mayRead(ctx, file)
	}
	return file, true, err
}

// ownID returns the id of a file in an address of this product.
func (s *Service) ownID(address string) (id string, isOwn bool) {
	address, _, _ = strings.Cut(address, "?")
	if id, isOwn = strings.CutPrefix(address, s.URL("")); !isOwn {
		own, err := url.Parse(s.URL(""))
		if err != nil {
			return "", false
		}
		id, isOwn = strings.CutPrefix(address, own.Path) // as a path: /messaging/media/…
	}
	return id, isOwn
}

// hasSignature reports whether an address of a file is signed: see [Service.SignedURL].
func (s *Service) hasSignature(id, address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && s.IsSigned(id, parsed.Query().Get("signature"))
}

func (s *Service) download(ctx context.Context, company int64, address *url.URL, link Link) (store.MediaFile, error) {
	fetching, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(fetching, http.MethodGet, address.String(), nil)
	if err != nil {
		return store.MediaFile{}, hub.Invalid("body.mediaUrl", "must be an absolute http(s) URL")
	}
	response, err := s.host.Downloads.Do(request)
	if hub.HasCode(err, "url_not_allowed") {
		notAllowed := hub.Invalid("body.mediaUrl", "must not lead into a private or reserved network")
		notAllowed.Code = "url_not_allowed"
		return store.MediaFile{}, notAllowed.WithCause(err)
	}
	if err != nil {
		return store.MediaFile{}, downloadError("it does not respond", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return store.MediaFile{}, downloadError(fmt.Sprintf("it responds with status %d", response.StatusCode), nil)
	}
	if kind := mediaTypeOr(link.Media, chat.MediaDocument); response.ContentLength > filetype.MaxBytes(kind) {
		return store.MediaFile{}, TooLargeError(kind)
	}
	name := link.Name
	if name == "" {
		name = path.Base(address.Path)
	}
	declared := response.Header.Get("Content-Type")
	if kind, _, _ := strings.Cut(declared, ";"); strings.EqualFold(strings.TrimSpace(kind), "text/plain") {
		declared = "" // of servers that do not know the file's type
	}
	return s.Store(ctx, company, Upload{
		Declared: filetype.Declared{Media: link.Media, Mime: declared, Name: name},
		Content:  downloadReader{response.Body}, User: link.User,
	})
}

func mediaTypeOr(kind, other chat.MediaType) chat.MediaType {
	if kind == "" {
		return other
	}
	return kind
}

// downloadReader turns errors of the other side into errors for callers.
type downloadReader struct{ io.Reader }

// Read implements io.Reader.
func (r downloadReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = downloadError("it broke off", err)
	}
	return n, err
}

// downloadError returns the error for an address without a file. Its text does not name
// addresses of networks.
func downloadError(reason string, cause error) error {
	return hub.Errorf(hub.ErrMalformed, "media_url_failed", "The file at mediaUrl cannot be fetched: %s.", reason).WithCause(cause)
}
