package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/boombuler/barcode/qr"
)

// Measures of a QR code's picture (ISO/IEC 18004).
const (
	quietZone  = 4 // modules around the symbol
	moduleSize = 6 // pixels
)

// QRCode draws a text as a QR code: PNG, black on white with a quiet zone. It returns nil for
// "", and an error for more than a QR code holds.
func QRCode(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	symbol, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("making a QR code: %w", err)
	}
	modules := symbol.Bounds().Dx()
	side := (modules + 2*quietZone) * moduleSize
	drawing := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range modules {
		top := drawing.PixOffset(quietZone*moduleSize, (y+quietZone)*moduleSize)
		row := drawing.Pix[top : top+modules*moduleSize]
		for x := range modules {
			if isDark(symbol.At(x, y)) {
				for i := range moduleSize {
					row[x*moduleSize+i] = 1
				}
			}
		}
		for i := 1; i < moduleSize; i++ {
			copy(drawing.Pix[top+i*drawing.Stride:], row)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, drawing); err != nil {
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	return out.Bytes(), nil
}

func isDark(shade color.Color) bool {
	r, _, _, _ := shade.RGBA()
	return r == 0
}
