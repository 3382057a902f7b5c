package files_test

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// Private files are stored, read and deleted by the product alone, in a directory and in a
// bucket; a file whose source breaks off is not stored.
func TestBlobs(t *testing.T) {
	t.Parallel()
	b := &bucket{objects: map[string][]byte{}, types: map[string]string{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	for _, address := range []string{
		"file://" + filepath.Join(t.TempDir(), "files"), "s3://uploads?region=sa-east-1&anonymous=true&use_path_style=true&endpoint=" + server.URL,
	} {
		s := open(t, address)
		mine, id, content := s.BlobsFor("messaging"), uuid.New(), bytes.Repeat([]byte("\x00\xff"), 500_000)
		require.NoError(t, mine.Put(t.Context(), id, bytes.NewReader(content)))
		r, err := mine.Open(t.Context(), id)
		require.NoError(t, err)
		read, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, content, read)

		for _, path := range []string{"/files/messaging/private/" + id.String(), "/files/messaging/" + id.String(), "/files/messaging/private/" + id.String() + ".png"} {
			require.Equal(t, 404, get(t, newApp(s), path).status)
		}
		other := s.BlobsFor("clinic")
		_, err = other.Open(t.Context(), id)
		require.ErrorIs(t, err, hub.ErrNotFound)
		require.NoError(t, other.Delete(t.Context(), id))

		broken := errors.New("the client is gone")
		cut := uuid.New()
		require.ErrorIs(t, mine.Put(t.Context(), cut, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))), broken)
		_, err = mine.Open(t.Context(), cut)
		require.ErrorIs(t, err, hub.ErrNotFound)

		for range 2 {
			require.NoError(t, mine.Delete(t.Context(), id))
		}
		_, err = mine.Open(t.Context(), id)
		require.ErrorIs(t, err, hub.ErrNotFound)
	}
	b.mu.Lock()
	b.broken = true
	b.mu.Unlock()
	away := open(t, "s3://uploads?region=sa-east-1&anonymous=true&use_path_style=true&endpoint="+server.URL).BlobsFor("messaging")
	require.ErrorIs(t, away.Put(t.Context(), uuid.New(), strings.NewReader("x")), hub.ErrUnavailable)
	_, err := away.Open(t.Context(), uuid.New())
	require.ErrorIs(t, err, hub.ErrUnavailable)
	require.ErrorIs(t, away.Delete(t.Context(), uuid.New()), hub.ErrUnavailable)
}
