package provider

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/boombuler/barcode/qr"
)

// Measures of a QR picture (ISO/IEC 18004).
const (
	quietZone  = 4 // modules around the symbol
	moduleSize = 6 // pixels
)

// EncodeQR draws a BR Code as a QR code: PNG, black on white with a quiet zone. It
// returns nil for "", the code of an erased client.
func EncodeQR(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	symbol, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("making a QR code: %w", err)
	}
	modules := symbol.Bounds().Dx()
	side := (modules + 2*quietZone) * moduleSize
	picture := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range modules {
		top := picture.PixOffset(quietZone*moduleSize, (y+quietZone)*moduleSize)
		row := picture.Pix[top : top+modules*moduleSize]
		for x := range modules {
			if isDark(symbol.At(x, y)) {
				for i := range moduleSize {
					row[x*moduleSize+i] = 1
				}
			}
		}
		for i := 1; i < moduleSize; i++ {
			copy(picture.Pix[top+i*picture.Stride:], row)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	return out.Bytes(), nil
}

func isDark(shade color.Color) bool {
	r, _, _, _ := shade.RGBA()
	return r == 0
}
