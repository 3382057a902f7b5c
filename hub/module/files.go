package module

import "context"

// Files keeps pictures that everybody may see, such as logos.
type Files interface {
	// Put stores a picture under a new name that nobody can guess and gives its
	// address, absolute, which stays good until Delete. What was stored for a
	// transaction that is then rolled back is to be deleted by the caller.
	// [hub.ErrMediaType] for anything but a [Picture]'s types, [hub.ErrUnavailable]
	// where the store does not answer.
	Put(ctx context.Context, p Picture) (url string, err error)
	// Delete removes what Put stored; an address that is not of this product, or
	// whose picture is gone, is no error.
	Delete(ctx context.Context, url string) error
}

// Picture is an encoded image, made by this program: what people upload is decoded
// and encoded anew first.
type Picture struct {
	Type    string // image/png or image/jpeg
	Content []byte
}
