package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"integrationhub/hub/module"
)

// BlobsFor returns the store of a product's private files. [Store.Serve] does not serve
// them.
func (s *Store) BlobsFor(product string) module.Blobs { return blobs{s, product + "/private/"} }

type blobs struct {
	*Store
	prefix string // of the keys
}

// sourceReader remembers the error of what is being stored, which is not the store's.
type sourceReader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *sourceReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Put implements [module.Blobs].
func (b blobs) Put(ctx context.Context, id uuid.UUID, content io.Reader) error {
	key := b.prefix + id.String()
	if err := b.makeDirFor(key); err != nil {
		return storeUnavailable(fmt.Errorf("storing a file: %w", err))
	}
	writing, cancel := context.WithCancel(ctx) // a cancelled write stores nothing
	defer cancel()
	w, err := b.bucket.NewWriter(writing, key, &blob.WriterOptions{ContentType: "application/octet-stream", BeforeWrite: b.beforeWrite})
	if err != nil {
		return storeUnavailable(fmt.Errorf("storing a file: %w", err))
	}
	source := &sourceReader{Reader: content}
	if _, err = io.Copy(w, source); err != nil {
		cancel()
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	switch {
	case source.err != nil:
		return source.err
	case err != nil:
		return storeUnavailable(fmt.Errorf("storing a file: %w", err))
	}
	if err := b.sync(key); err != nil {
		return storeUnavailable(fmt.Errorf("storing a file: %w", err))
	}
	return nil
}

// Open implements [module.Blobs].
func (b blobs) Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error) {
	r, err := b.bucket.NewReader(ctx, b.prefix+id.String(), nil)
	switch {
	case err == nil:
		return r, nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil, fileNotFound()
	}
	return nil, storeUnavailable(fmt.Errorf("reading a file: %w", err))
}

// Delete implements [module.Blobs].
func (b blobs) Delete(ctx context.Context, id uuid.UUID) error {
	if err := b.bucket.Delete(ctx, b.prefix+id.String()); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return storeUnavailable(fmt.Errorf("deleting a file: %w", err))
	}
	return nil
}
