package api

import (
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module/picture"
)

// pictureLimits are those of logos and photos.
var pictureLimits = picture.Limits{Bytes: 2 << 20, OutputSide: 512}

// formOverheadBytes is the room for a multipart form around its file.
const formOverheadBytes = 64 << 10

// allowUpload raises the body limit of a route to the size of an image.
func allowUpload(bind func(huma.API, huma.Operation)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		op.MaxBodyBytes = int64(pictureLimits.Bytes) + formOverheadBytes
		bind(api, op)
	}
}

// pictureForm is the form of an upload.
type pictureForm struct {
	File huma.FormFile `form:"file" required:"true" doc:"PNG, JPEG or WebP, at most 2 MiB and 4096 pixels"`
}

// photoInput is an upload for a service or a professional.
type photoInput struct {
	ByID
	RawBody huma.MultipartFormFiles[pictureForm]
}

// replacePicture re-encodes and stores an upload: only its pixels are kept. save refers to
// the new file by its name and returns the name of the file before, which is deleted.
func (a *API) replacePicture(ctx context.Context, upload io.Reader, save func(name *string) (previous *string, err error)) error {
	image, err := a.images.Process(ctx, upload)
	if err != nil {
		return err
	}
	name, err := a.host.Files.Put(ctx, image)
	if err != nil {
		return err
	}
	previous, err := save(&name)
	var refusal *hub.Error
	switch {
	case err == nil:
		a.deleteFile(ctx, previous)
	case errors.As(err, &refusal) && !errors.Is(err, hub.ErrUnavailable):
		a.deleteFile(ctx, &name)
	default: // the database may have committed, and refer to the file
		a.host.Log.WarnContext(ctx, "an uploaded file may be unused", "name", name, "error", err)
	}
	return err
}

// deleteFile deletes an unreferenced file; nil: none. A failure is only logged: the file
// does no harm.
func (a *API) deleteFile(ctx context.Context, name *string) {
	if name == nil {
		return
	}
	if err := a.host.Files.Delete(ctx, *name); err != nil {
		a.host.Log.WarnContext(ctx, "deleting an unused file failed", "name", *name, "error", err)
	}
}

// applyPhoto sets a picture to an address elsewhere, or to none, and drops the uploaded
// file. uploaded is that file's address, which may be sent back; nil: none.
func (errs *fieldErrors) applyPhoto(field nullable[string], address, key **string, uploaded *string, location string) {
	if !field.Set || uploaded != nil && field.HasValue() && field.Value == *uploaded {
		return
	}
	field.ApplyTo(address)
	*key = nil
	errs.CheckURL(*address, location)
	if field.HasValue() {
		parsed, err := url.Parse(field.Value)
		errs.Check(err != nil || parsed.Scheme != "http", location, "must begin with https:// because browsers show no other pictures on the booking pages; or upload the picture")
	}
}
