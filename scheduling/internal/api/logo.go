package api

import (
	"bytes"
	"context"
	"image"
	"image/color"
	_ "image/jpeg" // a form logos come in
	"image/png"
	"io"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/store"
)

// Files keeps what was uploaded.
type Files interface {
	// Put stores content under a key and replaces what was there.
	Put(ctx context.Context, key, mediaType string, content []byte) error
	// Delete removes it; a key that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// Bounds of a logo.
const (
	logoBytes  = 2 << 20
	logoPixels = 4096 // of a side, as uploaded
	logoSide   = 512  // as stored
)

type logoInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File huma.FormFile `form:"file" required:"true"`
	}]
}

type logoOutput struct {
	Body struct {
		LogoURL string `json:"logo_url"`
	} `nameHint:"Logo"`
}

// uploadLogo stores an image anew, so that nothing but its pixels is kept.
func (a *API) uploadLogo(ctx context.Context, in *logoInput) (*logoOutput, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(in.RawBody.Data().File, logoBytes+1))
	if err != nil {
		return nil, hub.Errorf(hub.ErrMalformed, "malformed", "The file cannot be read.").Because(err)
	}
	content, err := redrawn(raw)
	if err != nil {
		return nil, err
	}
	if a.files == nil {
		return nil, hub.Errorf(hub.ErrUnavailable, "uploads_unavailable", "Uploads cannot be stored here.")
	}
	key := "logos/" + store.NewID().String() + ".png"
	if err := a.files.Put(ctx, key, "image/png", content); err != nil {
		return nil, err
	}
	if err := a.replaceLogo(ctx, who.TenantID, &key); err != nil {
		return nil, err
	}
	org, err := a.store.Org(ctx, who.TenantID)
	if err != nil {
		return nil, err
	}
	out := &logoOutput{}
	out.Body.LogoURL = *a.logoURL(org)
	return out, nil
}

func (a *API) deleteLogo(ctx context.Context, _ *struct{}) (*none, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.replaceLogo(ctx, who.TenantID, nil)
}

// redrawn decodes an image and draws it again, at most 512 pixels wide and high.
func redrawn(raw []byte) ([]byte, error) {
	if len(raw) > logoBytes {
		return nil, hub.Errorf(hub.ErrTooLarge, "file_too_large", "The file is larger than 2 MiB.")
	}
	if !slices.Contains([]string{"image/png", "image/jpeg"}, http.DetectContentType(raw)) {
		return nil, hub.Errorf(hub.ErrMediaType, "unsupported_media_type", "Send a PNG or JPEG image.")
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return nil, broken(err)
	}
	if size.Width > logoPixels || size.Height > logoPixels {
		return nil, hub.Invalid("body.file", "must be at most 4096 pixels wide and high")
	}
	picture, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, broken(err)
	}
	var out bytes.Buffer
	err = png.Encode(&out, shrunk(picture))
	return out.Bytes(), err
}

func broken(err error) error {
	return hub.Invalid("body.file", "is not an image that can be read").Because(err)
}

// shrunk averages pixels, so that the longer side has at most 512.
func shrunk(p image.Image) image.Image {
	from := p.Bounds()
	longer := max(from.Dx(), from.Dy())
	if longer <= logoSide {
		return p
	}
	to := image.Rect(0, 0, max(1, from.Dx()*logoSide/longer), max(1, from.Dy()*logoSide/longer))
	drawn := image.NewNRGBA64(to)
	for y := range to.Dy() {
		for x := range to.Dx() {
			area := image.Rect(x*from.Dx()/to.Dx(), y*from.Dy()/to.Dy(), (x+1)*from.Dx()/to.Dx(), (y+1)*from.Dy()/to.Dy()).Add(from.Min)
			drawn.Set(x, y, average(p, area))
		}
	}
	return drawn
}

func average(p image.Image, area image.Rectangle) color.Color {
	var r, g, b, a, n uint64
	for y := area.Min.Y; y < max(area.Max.Y, area.Min.Y+1); y++ {
		for x := area.Min.X; x < max(area.Max.X, area.Min.X+1); x++ {
			pr, pg, pb, pa := p.At(x, y).RGBA()
			r, g, b, a, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), a+uint64(pa), n+1
		}
	}
	return color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: uint16(a / n)}
}
