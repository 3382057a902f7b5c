// Package imageupload takes in pictures that people upload. What is kept is never what
// was sent: it is decoded and encoded anew, smaller and without what cameras and
// strangers put beside the pixels.
package imageupload

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

// Bounds of an upload and of what is kept.
const (
	MaxBytes  = 2 << 20
	MaxSide   = 4096 // pixels
	KeptSide  = 512  // pixels of the longer side
	keptGrade = 85   // of JPEG
)

// Intake takes in pictures, one at a time: decoding the largest that is allowed
// takes up to 250 MiB. It is safe for concurrent use.
type Intake struct{ turn chan struct{} }

// NewIntake makes an intake.
func NewIntake() *Intake { return &Intake{turn: make(chan struct{}, 1)} }

// format is a kind of picture that is taken.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// whole walks through the container: a picture ends where its file ends. It
	// gives the largest side that any part of it claims.
	whole func(raw []byte) (side int, err error)
}

// Take reads an upload and gives what is to be kept. Errors: [hub.ErrTooLarge] over
// [MaxBytes]; [hub.ErrUnsupportedMediaType] for anything that is not, from its first byte to its
// last, a PNG, JPEG or WebP picture; [hub.ErrInvalid] for none at all, one over
// [MaxSide] pixels or one that is cut or broken; ctx's.
func (i *Intake) Take(ctx context.Context, r io.Reader) (module.Picture, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return module.Picture{}, fmt.Errorf("reading an upload: %w", err)
	case len(raw) > MaxBytes:
		return module.Picture{}, hub.Errorf(hub.ErrTooLarge, "file_too_large", "The file may have %d MiB at most.", MaxBytes>>20)
	case len(raw) == 0:
		return module.Picture{}, hub.Invalid("body.file", "is missing or empty")
	}
	kind := formatOf(raw)
	if kind == nil {
		return module.Picture{}, notAPicture(nil)
	}
	side, err := kind.whole(raw)
	if errors.Is(err, errMore) {
		return module.Picture{}, notAPicture(err)
	}
	if err != nil {
		return module.Picture{}, broken(err)
	}
	config, err := kind.config(bytes.NewReader(raw))
	switch {
	case err != nil:
		return module.Picture{}, broken(err)
	case max(side, config.Width, config.Height) > MaxSide:
		return module.Picture{}, hub.Errorf(hub.ErrInvalid, "image_too_large", "The picture may have %d × %d pixels at most.", MaxSide, MaxSide)
	case config.Width < 1 || config.Height < 1:
		return module.Picture{}, broken(errors.New("no pixels"))
	}
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return module.Picture{}, fmt.Errorf("waiting to read a picture: %w", ctx.Err())
	}
	decoded, err := kind.decode(bytes.NewReader(raw))
	if err != nil {
		return module.Picture{}, broken(err)
	}
	return encode(shrink(decoded), kind == &formatJPEG, orientation(raw))
}

var (
	formatPNG  = format{png.DecodeConfig, png.Decode, wholePNG}
	formatJPEG = format{jpeg.DecodeConfig, jpeg.Decode, wholeJPEG}
	formatWebP = format{webp.DecodeConfig, webp.Decode, wholeWebP}
)

func formatOf(raw []byte) *format {
	switch {
	case bytes.HasPrefix(raw, []byte(signaturePNG)):
		return &formatPNG
	case bytes.HasPrefix(raw, []byte{0xFF, markerStart, 0xFF}):
		return &formatJPEG
	case len(raw) >= 12 && string(raw[:4]) == "RIFF" && string(raw[8:12]) == "WEBP":
		return &formatWebP
	}
	return nil
}

func notAPicture(cause error) *hub.Error {
	return hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type", "The file must be a PNG, JPEG or WebP picture, and nothing else.").WithCause(cause)
}

func broken(cause error) *hub.Error {
	return hub.Errorf(hub.ErrInvalid, "image_unreadable", "The picture is cut or broken.").WithCause(cause)
}

// shrink draws a picture anew, its longer side at most KeptSide.
func shrink(from image.Image) *image.RGBA {
	width, height := from.Bounds().Dx(), from.Bounds().Dy()
	if longer := max(width, height); longer > KeptSide {
		width, height = max(1, width*KeptSide/longer), max(1, height*KeptSide/longer)
	}
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	if to.Bounds().Size() == from.Bounds().Size() {
		draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	} else {
		draw.CatmullRom.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	}
	return to
}

// encode writes photographs as JPEG, upright, and everything else as PNG.
func encode(p *image.RGBA, photograph bool, turned int) (module.Picture, error) {
	var out bytes.Buffer
	if photograph {
		if err := jpeg.Encode(&out, upright(p, turned), &jpeg.Options{Quality: keptGrade}); err != nil {
			return module.Picture{}, fmt.Errorf("encoding a picture: %w", err)
		}
		return module.Picture{Type: "image/jpeg", Content: out.Bytes()}, nil
	}
	if err := png.Encode(&out, p); err != nil {
		return module.Picture{}, fmt.Errorf("encoding a picture: %w", err)
	}
	return module.Picture{Type: "image/png", Content: out.Bytes()}, nil
}

// upright turns a picture the way EXIF says it was held (1 to 8), for that goes with
// the rest of EXIF.
func upright(p *image.RGBA, turned int) *image.RGBA {
	width, height := p.Bounds().Dx(), p.Bounds().Dy()
	if turned < 2 || turned > 8 {
		return p
	}
	size := image.Rect(0, 0, width, height)
	if turned >= 5 { // on its side
		size = image.Rect(0, 0, height, width)
	}
	to := image.NewRGBA(size)
	for y := range height {
		for x := range width {
			tx, ty := x, y
			switch turned {
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
			to.SetRGBA(tx, ty, p.RGBAAt(x, y))
		}
	}
	return to
}
