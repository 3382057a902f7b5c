package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/messaging/internal/filetype"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/store"
)

type getMediaInput struct {
	ID        string `path:"id" maxLength:"60" doc:"Of the file, as in mediaUrl"`
	Signature string `query:"signature" maxLength:"100" doc:"Part of the addresses that networks get, valid for an hour; in place of a token"`
}

type mediaOutput struct {
	ContentType    string `header:"Content-Type"`
	Disposition    string `header:"Content-Disposition"`
	ContentOptions string `header:"X-Content-Type-Options"`
	ContentPolicy  string `header:"Content-Security-Policy"`
	Body           func(huma.Context)
}

// bindGetMedia binds the operation that returns the content of a file.
func (a *API) bindGetMedia(api huma.API, op huma.Operation) {
	content := make(map[string]*huma.MediaType)
	for _, name := range filetype.MimeTypes() {
		content[name] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "The file: images to be shown, others as attachments", Content: content}}
	op.Errors = append(op.Errors, http.StatusUnauthorized)
	huma.Register(api, op, func(ctx context.Context, in *getMediaInput) (*mediaOutput, error) {
		file, content, err := a.openMedia(ctx, in)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		return &mediaOutput{file.MimeType, dispositionOf(file), "nosniff", "default-src 'none'; sandbox", func(c huma.Context) {
			c.SetHeader("Content-Type", file.MimeType)
			module.Stream(c, func(_ context.Context, w io.Writer) error {
				defer func() { _ = content.Close() }()
				_, err := io.Copy(w, content)
				return err
			}, func(err error) { a.host.Log.WarnContext(ctx, "a file was cut short", "error", err) })
		}}, nil
	})
}

// openMedia opens a file for a user of its company, or for the holder of a signature. The
// caller closes the content.
func (a *API) openMedia(ctx context.Context, in *getMediaInput) (store.MediaFile, io.ReadCloser, error) {
	isSigned := in.Signature != "" && a.media.IsSigned(in.ID, in.Signature)
	var user userPrincipal
	if !isSigned {
		var err error
		if user, err = a.requireUser(ctx); err != nil {
			return store.MediaFile{}, nil, err
		}
	}
	file, err := a.store.MediaFile(ctx, in.ID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !isSigned && file.CompanyID != user.scope.Company {
		return file, nil, notFound("no_media_found", "file")
	}
	if err == nil && !isSigned {
		err = a.requireMedia(ctx, user, file)
	}
	if err != nil {
		return file, nil, err
	}
	// The response is read after the handler has returned, when its context has ended.
	content, err := a.media.Open(context.WithoutCancel(ctx), file)
	if errors.Is(err, hub.ErrNotFound) {
		err = notFound("no_media_found", "file")
	}
	return file, content, err
}

// requireMedia is a [hub.ErrForbidden] for a file that only tickets have which the user does not see.
func (a *API) requireMedia(ctx context.Context, user userPrincipal, file store.MediaFile) error {
	viewer, err := a.viewerOf(ctx, user)
	if err != nil {
		return err
	}
	isSeen, err := a.store.SeesMedia(ctx, viewer, file)
	if err == nil && !isSeen {
		err = errNoPermission()
	}
	return err
}

// mayRead returns which of the company's files a user may send: those that it may read.
func (a *API) mayRead(user userPrincipal) media.MayRead {
	return func(ctx context.Context, file store.MediaFile) error { return a.requireMedia(ctx, user, file) }
}

// dispositionOf returns how browsers treat a file: only images are shown, because they were
// encoded here.
func dispositionOf(file store.MediaFile) string {
	if file.MediaType == "image" && strings.HasPrefix(file.MimeType, "image/") {
		return mime.FormatMediaType("inline", map[string]string{"filename": file.Name})
	}
	return mime.FormatMediaType("attachment", map[string]string{"filename": file.Name})
}
