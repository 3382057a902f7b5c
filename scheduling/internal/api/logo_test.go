package api

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func picture(width, height int) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range p.Pix {
		p.Pix[i] = 0xff
	}
	p.Set(0, 0, color.Black)
	return p
}

func TestLogosAreDrawnAnew(t *testing.T) {
	t.Parallel()
	var small, large bytes.Buffer
	require.NoError(t, png.Encode(&small, picture(10, 20)))
	require.NoError(t, jpeg.Encode(&large, picture(1024, 512), nil))
	for _, one := range []struct {
		raw           []byte
		width, height int
	}{{append(small.Bytes(), "<script>alert(1)</script>"...), 10, 20}, {large.Bytes(), 512, 256}} {
		content, err := redrawn(one.raw)
		require.NoError(t, err)
		require.NotContains(t, string(content), "script")
		drawn, err := png.Decode(bytes.NewReader(content))
		require.NoError(t, err)
		require.Equal(t, image.Rect(0, 0, one.width, one.height), drawn.Bounds())
	}
}

func TestWhatIsNoLogo(t *testing.T) {
	t.Parallel()
	var huge bytes.Buffer
	require.NoError(t, png.Encode(&huge, image.NewGray(image.Rect(0, 0, 4097, 1))))
	for raw, kind := range map[string]error{
		`<svg xmlns="http://www.w3.org/2000/svg"/>`: hub.ErrMediaType, "GIF89a": hub.ErrMediaType, "": hub.ErrMediaType,
		"\x89PNG\r\n\x1a\nbroken": hub.ErrInvalid, huge.String(): hub.ErrInvalid, string(make([]byte, logoBytes+1)): hub.ErrTooLarge,
	} {
		_, err := redrawn([]byte(raw))
		require.ErrorIs(t, err, kind)
	}
}
