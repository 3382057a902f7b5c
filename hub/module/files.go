package module

import "context"

// Files keeps pictures that everybody may see, such as logos.
type Files interface {
	// Put stores a picture under a new name, which nobody can guess, and gives the
	// name. It takes no part in a transaction: the caller deletes what was stored for
	// one that failed. [hub.ErrUnsupportedMediaType] for anything but a [Picture]'s types,
	// [hub.ErrUnavailable] where the store does not answer.
	Put(ctx context.Context, p Picture) (name string, err error)
	// URL is the address of a picture for everybody, absolute.
	URL(name string) string
	// Delete removes a picture; one that is gone already is no error.
	Delete(ctx context.Context, name string) error
}

// Picture is an encoded image, made by this program: what people upload is decoded
// and encoded anew first.
type Picture struct {
	Type    string // image/png or image/jpeg
	Content []byte
}
