package module

import (
	"context"
	"io"

	"github.com/google/uuid"
)

// Files stores public pictures, such as logos.
type Files interface {
	// Put stores a picture under a new, unguessable name and returns the name. It is not
	// transactional: the caller deletes the picture if its transaction fails. It returns
	// [hub.ErrUnsupportedMediaType] for a type that [Picture] does not allow, and
	// [hub.ErrUnavailable] if the store does not respond.
	Put(ctx context.Context, picture Picture) (name string, err error)
	// URL returns the absolute public address of a picture.
	URL(name string) string
	// Delete removes a picture. It returns nil if there is none.
	Delete(ctx context.Context, name string) error
}

// Picture is an image encoded by this program. Uploads are decoded and re-encoded
// first.
type Picture struct {
	Type    string // image/png or image/jpeg
	Content []byte
}

// Blobs stores files of any type that only the module reaches, such as attachments
// of messages. They are written and read as streams. Methods return [hub.ErrUnavailable]
// if the store does not respond.
type Blobs interface {
	// Put stores a file under a new id of the caller. It is not transactional. If reading
	// content fails, nothing is stored and that error is returned.
	Put(ctx context.Context, id uuid.UUID, content io.Reader) error
	// Open opens a file, or returns [hub.ErrNotFound]. The caller closes it.
	Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error)
	// Delete removes a file. It returns nil if there is none.
	Delete(ctx context.Context, id uuid.UUID) error
}
