// Package media keeps the files of messages: it checks them, stores them, signs their
// addresses and fetches those that callers name by an address.
package media

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/picture"
	"integrationhub/hub/module/turns"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/filetype"
	"integrationhub/messaging/internal/store"
)

// maxName is the length of a file's name, in characters.
const maxName = 255

// outputSide is how many pixels the longer side of a stored image has at most.
const outputSide = 2560

// downloadLimits are those of the downloads of a company in a process.
var downloadLimits = turns.Limits{MaxActive: 3, MaxWaiting: 100, MaxWait: 5 * time.Second}

// retryDownload is the Retry-After of a download that found no place.
const retryDownload = 5 * time.Second

// Service keeps files.
type Service struct {
	host   module.Host
	store  *store.Store
	images *picture.Processor
	key    []byte // signs addresses

	downloads *turns.Gate // of companies: each holds a request, and an address may answer slowly
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service {
	images := picture.NewProcessor(picture.Limits{Bytes: int(filetype.MaxBytes(chat.MediaImage)), OutputSide: outputSide})
	return &Service{host: host, store: s, images: images, key: host.Sealer.Derive("media-addresses"), downloads: turns.New(downloadLimits)}
}

// Upload is a file to keep.
type Upload struct {
	Declared filetype.Declared
	Content  io.Reader
	User     *int64 // who uploads it, and may read it before a message has it; nil: no user
	// Received says that the file came from a network: what is declared may then contradict
	// the content. An image that cannot be read is kept as a document.
	Received bool
}

// Store checks a file and keeps it. Errors for callers: [hub.ErrTooLarge] over the limit
// of its type or of the company, [hub.ErrUnsupportedMediaType] if its content is not what is said of it,
// [hub.ErrInvalid] if it is empty, or an image that cannot be read. Errors of reading the
// content are returned as they are.
func (s *Service) Store(ctx context.Context, company int64, u Upload) (store.MediaFile, error) {
	head, err := io.ReadAll(io.LimitReader(u.Content, filetype.HeadBytes))
	switch {
	case err != nil:
		return store.MediaFile{}, err
	case len(head) == 0:
		return store.MediaFile{}, invalidFile("file_empty", "The file is empty.")
	}
	kind, ok := filetype.Resolve(filetype.Sniff(head), u.Declared)
	switch {
	case ok:
	case u.Received:
		kind = filetype.Binary
	default:
		return store.MediaFile{}, hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type",
			"The content of the file is %s, which is not what its name, its type or mediaType says.", kind.Mime)
	}
	content := io.MultiReader(bytes.NewReader(head), u.Content)
	if kind.Media == chat.MediaImage {
		if kind, content, err = s.encodeImage(ctx, kind, content, u.Received); err != nil {
			return store.MediaFile{}, err
		}
	}
	return s.put(ctx, company, store.MediaFile{MediaType: kind.Media, MimeType: kind.Mime, Name: fileName(u.Declared.Name, kind), UserID: u.User}, content)
}

// encodeImage re-encodes an image: only its pixels are kept. A received one that cannot be
// read is a document.
func (s *Service) encodeImage(ctx context.Context, kind filetype.Type, content io.Reader, isReceived bool) (filetype.Type, io.Reader, error) {
	raw, err := io.ReadAll(io.LimitReader(content, filetype.MaxBytes(chat.MediaImage)+1))
	if err != nil {
		return kind, nil, err
	}
	image, err := s.images.Process(ctx, bytes.NewReader(raw))
	switch {
	case err == nil:
		return filetype.Sniff(image.Content), bytes.NewReader(image.Content), nil
	case isReceived && ctx.Err() == nil && !errors.Is(err, hub.ErrTooLarge):
		kind.Media = chat.MediaDocument
		return kind, bytes.NewReader(raw), nil
	}
	return kind, nil, err
}

// put stores the row, then the content, then that the content is complete.
func (s *Service) put(ctx context.Context, company int64, draft store.MediaFile, content io.Reader) (store.MediaFile, error) {
	draft.CompanyID, draft.ID, draft.BlobID = company, strings.ToLower(rand.Text()), uuid.New()
	file, err := s.store.AddMedia(ctx, draft)
	if errors.Is(err, hub.ErrTooLarge) {
		return file, err
	}
	if err != nil {
		return file, fmt.Errorf("storing a file: %w", err)
	}
	limited := &limitedReader{reader: content, left: filetype.MaxBytes(file.MediaType), kind: file.MediaType}
	if err := s.host.Blobs.Put(ctx, file.BlobID, limited); err != nil {
		s.Discard(ctx, file)
		return file, err
	}
	stored, err := s.store.CompleteMedia(ctx, company, file.ID, limited.read)
	if err != nil {
		s.Discard(ctx, file)
	}
	return stored, err
}

// Discard erases a file that no message has. A failure is only logged: a job erases it
// later.
func (s *Service) Discard(ctx context.Context, file store.MediaFile) {
	err := s.store.InTx(context.WithoutCancel(ctx), "discarding a file", func(tx *store.Tx) error {
		return tx.EraseMedia(ctx, file.CompanyID, []string{file.ID})
	})
	if err != nil {
		s.host.Log.WarnContext(ctx, "a file was not discarded; a job does it later", "error", err)
	}
}

// Open opens the content of a file. The caller closes it.
func (s *Service) Open(ctx context.Context, file store.MediaFile) (io.ReadCloser, error) {
	return s.host.Blobs.Open(ctx, file.BlobID)
}

// limitedReader fails when a file is longer than its kind may be.
type limitedReader struct {
	reader io.Reader
	left   int64
	read   int64
	kind   chat.MediaType
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	l.left, l.read = l.left-int64(n), l.read+int64(n)
	if l.left < 0 {
		return 0, TooLargeError(l.kind)
	}
	return n, err
}

// TooLargeError returns the error for a file that is longer than its kind may be.
func TooLargeError(kind chat.MediaType) error {
	return hub.Errorf(hub.ErrTooLarge, "file_too_large", "A file of the type %s may have %d MiB at most.", kind, filetype.MaxBytes(kind)>>20)
}

// fileName returns a name without its path and without characters that change how the
// text around it is displayed.
func fileName(claimed string, kind filetype.Type) string {
	claimed = path.Base(strings.ReplaceAll(strings.ToValidUTF8(claimed, ""), `\`, "/"))
	claimed = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, claimed))
	if runes := []rune(claimed); len(runes) > maxName {
		claimed = string(runes[:maxName-len(kind.Extension)]) + kind.Extension
	}
	if claimed == "" || claimed == "." || claimed == ".." || claimed == "/" {
		return string(kind.Media) + kind.Extension
	}
	if kind.Media == chat.MediaImage { // it was encoded anew
		return strings.TrimSuffix(claimed, path.Ext(claimed)) + kind.Extension
	}
	return claimed
}

func invalidFile(code, detail string) error {
	return hub.Errorf(hub.ErrMalformed, code, "%s", detail)
}
