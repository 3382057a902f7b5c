// Package picture checks and re-encodes uploaded pictures, and draws QR codes. An upload
// itself is never kept: re-encoding makes it smaller and drops metadata.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// MaxSide is the largest width and height of an upload, in pixels.
const MaxSide = 4096

const jpegQuality = 85

// Limits are those of an upload and of its result.
type Limits struct {
	Bytes      int // of the upload: whole MiB
	OutputSide int // pixels of the result's longer side
}

// Processor processes one picture at a time, because decoding the largest allowed one
// takes up to 250 MiB. It is safe for concurrent use.
type Processor struct {
	limits   Limits
	decoding chan struct{}
}

// NewProcessor returns a processor.
func NewProcessor(limits Limits) *Processor { return &Processor{limits, make(chan struct{}, 1)} }

// format is a supported image format.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// checkContainer walks through the container: a picture ends where its file ends. It
	// returns the largest side that any part of it declares.
	checkContainer func(raw []byte) (side int, err error)
}

// Process reads an upload and returns the re-encoded picture. Errors: [hub.ErrTooLarge]
// over the limit; [hub.ErrUnsupportedMediaType] for anything but a complete PNG, JPEG or WebP file;
// [hub.ErrInvalid] for an empty upload, more than [MaxSide] pixels, or a truncated or
// broken picture; the error of ctx.
func (i *Processor) Process(ctx context.Context, r io.Reader) (module.Picture, error) {
	raw, err := io.ReadAll(io.LimitReader(r, int64(i.limits.Bytes)+1))
	switch {
	case err != nil:
		return module.Picture{}, fmt.Errorf("reading an upload: %w", err)
	case len(raw) > i.limits.Bytes:
		return module.Picture{}, hub.Errorf(hub.ErrTooLarge, "file_too_large", "The file may have %d MiB at most.", i.limits.Bytes>>20)
	case len(raw) == 0:
		return module.Picture{}, hub.Invalid("body.file", "is missing or empty")
	}
	kind := formatOf(raw)
	if kind == nil {
		return module.Picture{}, mediaTypeError(nil)
	}
	side, err := kind.checkContainer(raw)
	if errors.Is(err, errTrailingData) {
		return module.Picture{}, mediaTypeError(err)
	}
	if err != nil {
		return module.Picture{}, unreadableError(err)
	}
	config, err := kind.config(bytes.NewReader(raw))
	switch {
	case err != nil:
		return module.Picture{}, unreadableError(err)
	case max(side, config.Width, config.Height) > MaxSide:
		return module.Picture{}, hub.Errorf(hub.ErrInvalid, "image_too_large", "The picture may have %d × %d pixels at most.", MaxSide, MaxSide)
	case config.Width < 1 || config.Height < 1:
		return module.Picture{}, unreadableError(errors.New("no pixels"))
	}
	select {
	case i.decoding <- struct{}{}:
		defer func() { <-i.decoding }()
	case <-ctx.Done():
		return module.Picture{}, fmt.Errorf("waiting to read a picture: %w", ctx.Err())
	}
	decoded, err := kind.decode(bytes.NewReader(raw))
	if err != nil {
		return module.Picture{}, unreadableError(err)
	}
	return encode(shrink(decoded, i.limits.OutputSide), kind == &formatJPEG, orientation(raw))
}

var (
	formatPNG  = format{png.DecodeConfig, png.Decode, checkPNG}
	formatJPEG = format{jpeg.DecodeConfig, jpeg.Decode, checkJPEG}
	formatWebP = format{webp.DecodeConfig, webp.Decode, checkWebP}
)

func formatOf(raw []byte) *format {
	switch {
	case bytes.HasPrefix(raw, []byte(pngSignature)):
		return &formatPNG
	case bytes.HasPrefix(raw, []byte{0xFF, markerStart, 0xFF}):
		return &formatJPEG
	case len(raw) >= 12 && string(raw[:4]) == "RIFF" && string(raw[8:12]) == "WEBP":
		return &formatWebP
	}
	return nil
}

func mediaTypeError(cause error) *hub.Error {
	return hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type", "The file must be a PNG, JPEG or WebP picture, and nothing else.").WithCause(cause)
}

func unreadableError(cause error) *hub.Error {
	return hub.Errorf(hub.ErrInvalid, "image_unreadable", "The picture is cut or broken.").WithCause(cause)
}

// shrink redraws a picture so that its longer side has at most so many pixels.
func shrink(from image.Image, side int) *image.RGBA {
	width, height := from.Bounds().Dx(), from.Bounds().Dy()
	if longer := max(width, height); longer > side {
		width, height = max(1, width*side/longer), max(1, height*side/longer)
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if out.Bounds().Size() == from.Bounds().Size() {
		draw.Draw(out, out.Bounds(), from, from.Bounds().Min, draw.Src)
	} else {
		draw.CatmullRom.Scale(out, out.Bounds(), from, from.Bounds(), draw.Src, nil)
	}
	return out
}

// encode writes photographs as JPEG, upright, and everything else as PNG.
func encode(img *image.RGBA, photograph bool, orientation int) (module.Picture, error) {
	var out bytes.Buffer
	if photograph {
		if err := jpeg.Encode(&out, upright(img, orientation), &jpeg.Options{Quality: jpegQuality}); err != nil {
			return module.Picture{}, fmt.Errorf("encoding a picture: %w", err)
		}
		return module.Picture{Type: "image/jpeg", Content: out.Bytes()}, nil
	}
	if err := png.Encode(&out, img); err != nil {
		return module.Picture{}, fmt.Errorf("encoding a picture: %w", err)
	}
	return module.Picture{Type: "image/png", Content: out.Bytes()}, nil
}

// upright rotates a picture by its EXIF orientation (1 to 8), which re-encoding drops.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	if orientation < 2 || orientation > 8 {
		return img
	}
	size := image.Rect(0, 0, width, height)
	if orientation >= 5 { // on its side
		size = image.Rect(0, 0, height, width)
	}
	out := image.NewRGBA(size)
	for y := range height {
		for x := range width {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = width - 1 - x
			case 3:
				tx, ty = width-1-x, height-1-y
			case 4:
				ty = height - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = height-1-y, x
			case 7:
				tx, ty = height-1-y, width-1-x
			case 8:
				tx, ty = y, width-1-x
			}
			out.SetRGBA(tx, ty, img.RGBAAt(x, y))
		}
	}
	return out
}
