package api_test

import (
	"bytes"
	"crypto/rand"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestLogo(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	upload := func(field string, content []byte) answer { return org.Upload("/organization/logo", field, content) }
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))))
	var links []any
	for range 2 {
		got := upload("file", picture.Bytes())
		require.Equal(t, 200, got.Status, got.Text)
		require.Equal(t, got.Body["logo_url"], org.OK(200, "GET", "/organization", nil)["logo_url"])
		links = append(links, got.Body["logo_url"])
	}
	require.NotEqual(t, links[0], links[1])
	require.Len(t, org.Hub.Files(), 1, "the one before is gone")
	noise := image.NewRGBA(image.Rect(0, 0, 700, 700)) // more than a JSON body may have
	_, _ = rand.Read(noise.Pix)
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, noise))
	require.Greater(t, large.Len(), 1<<20)
	require.Less(t, large.Len(), 2<<20)
	require.Equal(t, 200, upload("file", large.Bytes()).Status)
	padded := func(size int) []byte { return append(picture.Bytes(), make([]byte, size-picture.Len())...) }
	require.Equal(t, 415, upload("file", padded(2<<20)).Status, "not too large; but bytes behind the picture")
	for _, size := range []int{2<<20 + 1, 3 << 20, 20 << 20} {
		got := upload("file", padded(size))
		require.Equal(t, 413, got.Status, "%d bytes: %s", size, got.Text)
		require.Equal(t, "file_too_large", got.Body["code"], got.Text)
	}
	require.Len(t, org.Hub.Files(), 1)
	require.Equal(t, 415, upload("file", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")).Status)
	require.Equal(t, 422, upload("other", picture.Bytes()).Status)
	org.OK(204, "DELETE", "/organization/logo", nil)
	require.Nil(t, org.OK(200, "GET", "/organization", nil)["logo_url"])
	require.Empty(t, org.Hub.Files())
}

// When the connection ends while the database commits, the new file may be referred to: it stays.
func TestLogoWhoseCommitIsUnknown(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))))
	org.Exec(`create function scheduling.break_off() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`)
	org.Exec(`create constraint trigger break_off after update on scheduling.organizations deferrable initially deferred for each row execute function scheduling.break_off()`)
	require.GreaterOrEqual(t, org.Upload("/organization/logo", "file", picture.Bytes()).Status, 500)
	require.Len(t, org.Hub.Files(), 1)
}
