package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/table"
)

// chunkSize is how many bytes of a file's text one row of clinic.import_chunks holds.
const chunkSize = 256 << 10

// chunkContext binds an encrypted chunk to its import and place.
func chunkContext(id uuid.UUID, n int) string {
	return "import/" + id.String() + "/" + strconv.Itoa(n)
}

// storeFile stores a file's text in encrypted chunks.
func (s *Service) storeFile(ctx context.Context, tx *store.Tx, key importKey, file io.ReadSeeker) error {
	text, err := table.Text(file)
	if err != nil {
		return err
	}
	buffer := make([]byte, chunkSize)
	for n := 0; ; n++ {
		length, err := io.ReadFull(text, buffer)
		if length > 0 {
			sealed := s.host.Sealer.Seal(buffer[:length], chunkContext(key.ID, n))
			if err := tx.InsertImportChunk(ctx, dbgen.InsertImportChunkParams{ClinicID: key.Clinic, Env: key.Env, ImportID: key.ID, N: n, Content: sealed}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the file: %w", err)
		}
	}
}

// errUnreadable is a stored file that cannot be decrypted any more. A retry does not help.
var errUnreadable = errors.New("a stored file cannot be decrypted")

// chunkReader reads the text of a stored file, one chunk at a time.
type chunkReader struct {
	ctx     context.Context //nolint:containedctx // the reader lives as long as one run of the job
	service *Service
	key     importKey
	next    int    // number of the next chunk
	rest    []byte // of the present chunk
}

// Read implements io.Reader.
func (c *chunkReader) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		sealed, err := c.service.store.ImportChunkContent(c.ctx, dbgen.ImportChunkContentParams{ClinicID: c.key.Clinic, Env: c.key.Env, ImportID: c.key.ID, N: c.next})
		if errors.Is(err, pgx.ErrNoRows) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		if c.rest, err = c.service.host.Sealer.Open(sealed, chunkContext(c.key.ID, c.next)); err != nil {
			return 0, errors.Join(errUnreadable, err)
		}
		c.next++
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// openText returns the text of a stored file from an offset on.
func (s *Service) openText(ctx context.Context, key importKey, offset int64) (io.Reader, error) {
	text := &chunkReader{ctx: ctx, service: s, key: key, next: int(offset / chunkSize)}
	_, err := io.CopyN(io.Discard, text, offset%chunkSize)
	return text, err
}

// openRows returns the rows of a stored file that its import has not processed.
func (s *Service) openRows(ctx context.Context, key importKey, importState store.Import) (importfile.Reader, error) {
	var header *importfile.Header
	if importState.Format == string(importfile.CSV) {
		text, err := s.openText(ctx, key, 0)
		if err == nil {
			header, _, err = importfile.ReadHeader(text, importState.CreatedAt.Year())
		}
		if err != nil {
			return nil, err
		}
	}
	text, err := s.openText(ctx, key, importState.Position)
	if err != nil {
		return nil, err
	}
	return importfile.NewReader(text, importfile.Position{Offset: importState.Position, Line: importState.Line, FullRowsUntil: importState.FullRowsUntil}, header), nil
}
