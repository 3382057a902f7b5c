package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub/module/picture"
	"integrationhub/scheduling/internal/store"
)

// logoLimits are those of logos.
var logoLimits = picture.Limits{Bytes: 2 << 20, OutputSide: 512}

// formOverheadBytes is the room for a multipart form around its file.
const formOverheadBytes = 64 << 10

// allowUpload raises the body limit of a route to the size of an image.
func allowUpload(bind func(huma.API, huma.Operation)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		op.MaxBodyBytes = int64(logoLimits.Bytes) + formOverheadBytes
		bind(api, op)
	}
}

type logoInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File huma.FormFile `form:"file" required:"true" doc:"PNG, JPEG or WebP, at most 2 MiB and 4096 pixels"`
	}]
}

type logoOutput struct {
	Body struct {
		LogoURL string `json:"logo_url" doc:"Where the picture is"`
	} `nameHint:"Logo"`
}

// uploadLogo re-encodes and stores the image: only its pixels are kept.
func (a *API) uploadLogo(ctx context.Context, in *logoInput) (*logoOutput, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	image, err := a.images.Process(ctx, in.RawBody.Data().File)
	if err != nil {
		return nil, err
	}
	name, err := a.host.Files.Put(ctx, image)
	if err != nil {
		return nil, err
	}
	if err := a.replaceLogo(ctx, org, &name); err != nil {
		a.deleteFile(ctx, name)
		return nil, err
	}
	out := &logoOutput{}
	out.Body.LogoURL = a.host.Files.URL(name)
	return out, nil
}

func (a *API) deleteLogo(ctx context.Context, _ *struct{}) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.replaceLogo(ctx, org, nil)
}

// replaceLogo sets or clears the logo and deletes the previous file.
func (a *API) replaceLogo(ctx context.Context, id uuid.UUID, name *string) error {
	var previous *string
	err := a.store.InTx(ctx, "changing the logo", func(tx *store.Tx) error {
		org, err := tx.LockOrg(ctx, id)
		if err != nil {
			return err
		}
		previous = org.LogoKey
		return tx.SaveLogo(ctx, id, name)
	})
	if err == nil && previous != nil {
		a.deleteFile(ctx, *previous)
	}
	return err
}

// deleteFile deletes an unreferenced file. A failure is only logged: the file does no
// harm.
func (a *API) deleteFile(ctx context.Context, name string) {
	if err := a.host.Files.Delete(ctx, name); err != nil {
		a.host.Log.WarnContext(ctx, "deleting an unused file failed", "name", name, "error", err)
	}
}
