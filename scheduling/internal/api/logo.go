package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/scheduling/internal/store"
)

type logoInput struct {
	RawBody huma.MultipartFormFiles[pictureForm]
}

type logoOutput struct {
	Body struct {
		LogoURL string `json:"logo_url" doc:"Where the picture is"`
	} `nameHint:"Logo"`
}

func (a *API) uploadLogo(ctx context.Context, in *logoInput) (*logoOutput, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	out := &logoOutput{}
	return out, a.replacePicture(ctx, in.RawBody.Data().File, func(name *string) (*string, error) {
		out.Body.LogoURL = a.host.Files.URL(*name)
		return a.replaceLogo(ctx, org, name)
	})
}

func (a *API) deleteLogo(ctx context.Context, _ *struct{}) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	previous, err := a.replaceLogo(ctx, org, nil)
	if err == nil {
		a.deleteFile(ctx, previous)
	}
	return nil, err
}

// replaceLogo sets or clears the logo and returns the previous file's name.
func (a *API) replaceLogo(ctx context.Context, id uuid.UUID, name *string) (previous *string, err error) {
	err = a.store.InTx(ctx, "changing the logo", func(tx *store.Tx) error {
		org, err := tx.LockOrg(ctx, id)
		if err != nil {
			return err
		}
		previous = org.LogoKey
		return tx.SaveLogo(ctx, id, name)
	})
	return previous, err
}
