package api_test

import (
	"image/color"
	"io"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// "Service and professional photos": an upload replaces an address and the upload before;
// clients get its address; it is deleted with what it shows.
func TestPhotos(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	other := schedulingtest.RegisterOrganization(t, org.Hub)
	photo := org.PNG(900, 600, color.RGBA{R: 200, A: 255})
	for _, kind := range []struct{ list, id, upload, member, public string }{
		{"/services", org.ServiceID, "/image", "image_url", org.PublicPath("/services")},
		{"/professionals", org.ProfessionalID, "/avatar", "avatar_url", org.PublicPath("/professionals?service_id=" + org.ServiceID)},
	} {
		path := kind.list + "/" + kind.id
		published := func() any { return org.Guest().List(kind.public)[0][kind.member] }
		require.Nil(t, published())
		org.OK(200, "PUT", path, object{kind.member: "https://example.com/x.png"})
		require.Equal(t, "https://example.com/x.png", published())

		var links []any
		for range 2 {
			got := org.Upload(path+kind.upload, "file", photo)
			require.Equal(t, 200, got.Status, got.Text)
			require.Equal(t, kind.id, got.Body["id"], "the answer is the whole resource")
			require.Equal(t, got.Body[kind.member], published())
			links = append(links, got.Body[kind.member])
		}
		require.NotEqual(t, links[0], links[1])
		require.Len(t, org.Hub.Files(), 1, "the one before is gone")
		require.Equal(t, 404, status(t, links[0].(string)))
		require.Equal(t, 200, status(t, links[1].(string)))

		require.Equal(t, 415, org.Upload(path+kind.upload, "file", []byte("<svg/>")).Status)
		require.Equal(t, 413, org.Upload(path+kind.upload, "file", make([]byte, 2<<20+1)).Status)
		require.Equal(t, 422, org.Upload(path+kind.upload, "other", photo).Status)
		require.Equal(t, 404, other.Upload(path+kind.upload, "file", photo).Status, "of another organization")
		require.Equal(t, 404, org.Upload(kind.list+"/"+uuid.NewString()+kind.upload, "file", photo).Status)
		other.Refused(404, "not_found", "DELETE", path+kind.upload, nil)
		require.Len(t, org.Hub.Files(), 1, "what is refused is not kept")

		require.Equal(t, links[1], org.OK(200, "PUT", path, object{"name": "New", kind.member: links[1]})[kind.member], "a resource can be sent back as it was read")
		require.Len(t, org.Hub.Files(), 1)
		org.OK(200, "PUT", path, object{kind.member: "https://example.com/y.png"})
		require.Equal(t, "https://example.com/y.png", published())
		require.Empty(t, org.Hub.Files(), "an address takes the place of the upload")

		require.Equal(t, 200, org.Upload(path+kind.upload, "file", photo).Status)
		org.OK(204, "DELETE", path+kind.upload, nil)
		require.Nil(t, published())
		require.Empty(t, org.Hub.Files())
		org.OK(204, "DELETE", path+kind.upload, nil)

		require.Equal(t, 200, org.Upload(path+kind.upload, "file", photo).Status)
		require.Nil(t, org.OK(200, "PUT", path, object{kind.member: nil})[kind.member])
		require.Empty(t, org.Hub.Files())
	}
	for _, path := range []string{"/services/" + org.ServiceID + "/image", "/professionals/" + org.ProfessionalID + "/avatar"} {
		require.Equal(t, 200, org.Upload(path, "file", photo).Status)
	}
	require.Len(t, org.Hub.Files(), 2)
	org.OK(204, "DELETE", "/services/"+org.ServiceID, nil)
	org.OK(204, "DELETE", "/professionals/"+org.ProfessionalID, nil)
	require.Empty(t, org.Hub.Files(), "what is removed has no photo")
}

func status(t *testing.T, address string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	answer, err := hubtest.HTTPClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	return answer.StatusCode
}

// "http pictures refused with a word instead of dropped": nothing is changed, and what an
// older version stored does not stand in the way of other changes.
func TestPicturesAreHTTPS(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	for path, member := range map[string]string{"/services": "image_url", "/professionals": "avatar_url"} {
		table := "scheduling" + "." + path[1:]
		item := org.List(path)[0]
		itemPath := path + "/" + item["id"].(string)
		for _, body := range []struct{ method, path string }{{"PUT", itemPath}, {"POST", path}} {
			got := org.Call(body.method, body.path, object{"name": "Refused", "duration_minutes": 30, member: "http://example.com/x.png"})
			require.Equal(t, 422, got.Status, got.Text)
			require.Equal(t, "body."+member, got.Body["errors"].([]any)[0].(object)["location"])
			require.Contains(t, got.Text, "must begin with https://")
		}
		require.Equal(t, item, org.List(path)[0])
		require.Len(t, org.List(path), 1)
		_, err := org.Hub.Host.Pool.Exec(t.Context(), "update "+table+" set "+member+" = 'http://example.com/old.png' where id = $1", item["id"])
		require.NoError(t, err)
		require.Equal(t, "Renamed", org.OK(200, "PUT", itemPath, object{"name": "Renamed"})["name"])
	}
}
