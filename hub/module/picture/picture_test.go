package picture_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/picture"
)

// limits are those of the tests.
var limits = picture.Limits{Bytes: 2 << 20, OutputSide: 512}

// halves is red on the left and blue on the right.
func halves(width, height int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			shade := color.RGBA{R: 255, A: 255}
			if x >= width/2 {
				shade = color.RGBA{B: 255, A: 255}
			}
			img.SetRGBA(x, y, shade)
		}
	}
	return img
}

func asPNG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func asJPEG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	return b.Bytes()
}

// The pictures of one pixel by which pages ask browsers whether they know WebP.
const (
	webpLossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	webpLossless = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

func decode64(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return raw
}

func take(t *testing.T, raw []byte) (module.Picture, error) {
	t.Helper()
	return picture.NewProcessor(limits).Process(t.Context(), bytes.NewReader(raw))
}

func taken(t *testing.T, raw []byte) (image.Image, module.Picture) {
	t.Helper()
	picture, err := take(t, raw)
	require.NoError(t, err)
	decoded, kind, err := image.Decode(bytes.NewReader(picture.Content))
	require.NoError(t, err)
	require.Equal(t, picture.Type, "image/"+kind)
	return decoded, picture
}

func TestImagesAreScaledDown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw           []byte
		kind          string
		width, height int
	}{
		"PNG":           {asPNG(t, halves(100, 50)), "image/png", 100, 50},
		"JPEG":          {asJPEG(t, halves(100, 50)), "image/jpeg", 100, 50},
		"lossy WebP":    {decode64(t, webpLossy), "image/png", 1, 1},
		"lossless WebP": {decode64(t, webpLossless), "image/png", 1, 1},
		"wide PNG":      {asPNG(t, halves(4096, 100)), "image/png", 512, 12},
		"tall JPEG":     {asJPEG(t, halves(1000, 2000)), "image/jpeg", 256, 512},
		"a line":        {asPNG(t, halves(4096, 1)), "image/png", 512, 1},
		"gray":          {asPNG(t, image.NewGray(image.Rect(0, 0, 600, 600))), "image/png", 512, 512},
		"16 bits":       {asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 600, 300))), "image/png", 512, 256},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decoded, picture := taken(t, test.raw)
			require.Equal(t, test.kind, picture.Type)
			require.Equal(t, image.Pt(test.width, test.height), decoded.Bounds().Size())
			if test.width >= 100 && name != "gray" && name != "16 bits" {
				requireColor(t, decoded, 2, 0, color.RGBA{R: 255, A: 255})
				requireColor(t, decoded, test.width-3, 0, color.RGBA{B: 255, A: 255})
			}
		})
	}
	glass := image.NewNRGBA(image.Rect(0, 0, 10, 10))
	decoded, _ := taken(t, asPNG(t, glass))
	_, _, _, alpha := decoded.At(5, 5).RGBA()
	require.Zero(t, alpha, "what is transparent stays so")
}

func requireColor(t *testing.T, img image.Image, x, y int, want color.RGBA) {
	t.Helper()
	r, g, b, _ := img.At(x, y).RGBA()
	require.InDelta(t, want.R, r>>8, 20)
	require.InDelta(t, want.G, g>>8, 20)
	require.InDelta(t, want.B, b>>8, 20)
}

// exif puts an APP1 segment behind the start of a JPEG: an orientation and a canary.
func exif(raw []byte, order binary.AppendByteOrder, turned uint16) []byte {
	mark := map[bool]string{true: "II", false: "MM"}[order == binary.AppendByteOrder(binary.LittleEndian)]
	tiff := order.AppendUint32(order.AppendUint16([]byte(mark), 42), 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][4]uint32{{0x010F, 2, 4, 0x41424344}, {0x0112, 3, 1, 0}} {
		tiff = order.AppendUint16(order.AppendUint16(tiff, uint16(entry[0])), uint16(entry[1]))
		tiff = order.AppendUint32(tiff, entry[2])
		if entry[0] == 0x0112 {
			tiff = order.AppendUint16(order.AppendUint16(tiff, turned), 0)
		} else {
			tiff = order.AppendUint32(tiff, entry[3])
		}
	}
	data := append(append([]byte("Exif\x00\x00"), tiff...), "canary: -23.5505,-46.6333"...)
	segment := append(binary.BigEndian.AppendUint16([]byte{0xFF, 0xE1}, uint16(len(data)+2)), data...)
	return append(append(append([]byte{}, raw[:2]...), segment...), raw[2:]...)
}

// The colours of the corners, read like a text, of a picture that is upright as
// "RBGW": red, blue, green, white. Values by EXIF 2.32, tag 0x0112.
func TestImageOrientationIsApplied(t *testing.T) {
	t.Parallel()
	colors := map[rune]color.RGBA{'R': {R: 255, A: 255}, 'B': {B: 255, A: 255}, 'G': {G: 255, A: 255}, 'W': {R: 255, G: 255, B: 255, A: 255}}
	corners := image.NewRGBA(image.Rect(0, 0, 64, 32))
	for i, name := range "RBGW" {
		at := image.Pt(i%2*32, i/2*16)
		draw.Draw(corners, image.Rectangle{at, at.Add(image.Pt(32, 16))}, image.NewUniform(colors[name]), image.Point{}, draw.Src)
	}
	plain := asJPEG(t, corners)
	for turned, want := range map[uint16]string{
		0: "RBGW", 1: "RBGW", 2: "BRWG", 3: "WGBR", 4: "GWRB", 5: "RGBW", 6: "GRWB", 7: "WBGR", 8: "BWRG", 9: "RBGW", 60000: "RBGW",
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			raw := exif(plain, order, turned)
			require.Contains(t, string(raw), "canary")
			decoded, picture := taken(t, raw)
			require.NotContains(t, string(picture.Content), "canary", "where it was taken is nobody's business")
			require.NotContains(t, string(picture.Content), "Exif")
			size := decoded.Bounds().Size()
			require.Equal(t, turned >= 5 && turned <= 8, size == image.Pt(32, 64), "%d", turned)
			for i, name := range want {
				requireColor(t, decoded, size.X/4+i%2*size.X/2, size.Y/4+i/2*size.Y/2, colors[name])
			}
		}
	}
}

// chunk is a chunk of PNG.
func chunk(name string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, name...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// claiming is a PNG that says it is so large, and has next to nothing in it.
func claiming(width, height uint32) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	return bytes.Join([][]byte{[]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(header, 8, 6, 0, 0, 0)), chunk("IDAT", []byte{0x78, 0x9C, 3, 0, 0, 0, 0, 1}), chunk("IEND", nil)}, nil)
}

// extendedWebP claims one pixel in its extended header and another size in its frame.
func extendedWebP(side uint32) []byte {
	frame := []byte{0x2F}
	frame = binary.LittleEndian.AppendUint32(frame, (side-1)|(side-1)<<14)
	frame = append(frame, 0, 0, 0)
	body := append([]byte("WEBPVP8X"), 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	body = append(binary.LittleEndian.AppendUint32(append(body, "VP8L"...), uint32(len(frame))), frame...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	good := map[string][]byte{"PNG": asPNG(t, halves(60, 60)), "JPEG": asJPEG(t, halves(60, 60)), "WebP": decode64(t, webpLossless)}
	tests := map[string]struct {
		raw  []byte
		kind error
		code string
	}{
		"nothing":                      {nil, hub.ErrInvalid, "validation_failed"},
		"too many bytes":               {bytes.Repeat([]byte{0}, limits.Bytes+1), hub.ErrTooLarge, "file_too_large"},
		"SVG":                          {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), hub.ErrUnsupportedMediaType, "unsupported_media_type"},
		"SVG with a declaration":       {[]byte(`<?xml version="1.0"?><svg/>`), hub.ErrUnsupportedMediaType, "unsupported_media_type"},
		"HTML":                         {[]byte("<html><script>alert(1)</script>"), hub.ErrUnsupportedMediaType, "unsupported_media_type"},
		"GIF":                          {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), hub.ErrUnsupportedMediaType, "unsupported_media_type"},
		"PDF before a picture":         {append([]byte("%PDF-1.7\n"), good["PNG"]...), hub.ErrUnsupportedMediaType, "unsupported_media_type"},
		"20,000 × 20,000":              {claiming(20000, 20000), hub.ErrInvalid, "image_too_large"},
		"4,097 wide":                   {claiming(4097, 1), hub.ErrInvalid, "image_too_large"},
		"two billion":                  {claiming(1<<31-1, 1<<31-1), hub.ErrInvalid, ""},
		"no pixels":                    {claiming(0, 10), hub.ErrInvalid, "image_unreadable"},
		"claims less than its frame":   {extendedWebP(16384), hub.ErrInvalid, "image_too_large"},
		"claims, has nothing":          {claiming(4096, 4096), hub.ErrInvalid, "image_unreadable"},
		"a chunk longer than the file": {append([]byte("\x89PNG\r\n\x1a\n"), 0xFF, 0xFF, 0xFF, 0xFF, 'I', 'H', 'D', 'R', 0, 0, 0, 0), hub.ErrInvalid, "image_unreadable"},
		"JPEG, two starts":             {[]byte{0xFF, 0xD8, 0xFF, 0xD8, 0xFF, 0xD9}, hub.ErrInvalid, "image_unreadable"},
		"JPEG without a picture":       {[]byte{0xFF, 0xD8, 0xFF, 0xD9}, hub.ErrInvalid, "image_unreadable"},
		"JPEG, a segment of no length": {[]byte{0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xD9}, hub.ErrInvalid, "image_unreadable"},
	}
	for name, raw := range good {
		for second, payload := range map[string]string{"ZIP": "PK\x03\x04", "HTML": "<script>alert(1)</script>", "one byte": "x", "itself": string(raw)} {
			tests[name+" and "+second] = struct {
				raw  []byte
				kind error
				code string
			}{append(append([]byte{}, raw...), payload...), hub.ErrUnsupportedMediaType, "unsupported_media_type"}
		}
		for cut := 12; cut < len(raw); cut += max(1, len(raw)/17) {
			tests[name+" cut at "+strings.Repeat("i", cut%97)+string(rune('a'+cut%26))] = struct {
				raw  []byte
				kind error
				code string
			}{raw[:cut], hub.ErrInvalid, "image_unreadable"}
		}
	}
	for name, test := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := take(t, test.raw)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, test.kind, name)
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr)
		if test.code != "" {
			require.Equal(t, test.code, hubErr.Code, name)
		}
		if hubErr.Code == "image_too_large" {
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), name) // others allocate meanwhile
		}
	}
}

func TestTrailingZerosAreAccepted(t *testing.T) {
	t.Parallel()
	_, picture := taken(t, append(asJPEG(t, halves(60, 60)), 0, 0, 0))
	require.Equal(t, "image/jpeg", picture.Type)
}

func TestTruncatedUpload(t *testing.T) {
	t.Parallel()
	away := errors.New("the client is gone")
	_, err := picture.NewProcessor(limits).Process(t.Context(), io.MultiReader(bytes.NewReader(asPNG(t, halves(9, 9))), iotest.ErrReader(away)))
	require.ErrorIs(t, err, away)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	intake := picture.NewProcessor(limits)
	_, err = intake.Process(t.Context(), bytes.NewReader(asPNG(t, halves(9, 9))))
	require.NoError(t, err)
	require.Eventually(t, func() bool { // with a free turn either may win
		_, err = intake.Process(ctx, bytes.NewReader(asPNG(t, halves(9, 9))))
		return errors.Is(err, context.Canceled)
	}, 1e10, 1)
}

func FuzzTake(f *testing.F) {
	var b bytes.Buffer
	_ = png.Encode(&b, halves(8, 8))
	f.Add(append([]byte{}, b.Bytes()...))
	b.Reset()
	_ = jpeg.Encode(&b, halves(8, 8), nil)
	f.Add(append([]byte{}, b.Bytes()...))
	f.Add(exif(b.Bytes(), binary.BigEndian, 6))
	for _, text := range []string{webpLossy, webpLossless} {
		raw, _ := base64.StdEncoding.DecodeString(text)
		f.Add(raw)
	}
	f.Add(extendedWebP(2))
	intake := picture.NewProcessor(limits)
	f.Fuzz(func(t *testing.T, raw []byte) {
		picture, err := intake.Process(t.Context(), bytes.NewReader(raw))
		if err != nil {
			var hubErr *hub.Error
			require.ErrorAs(t, err, &hubErr)
			return
		}
		config, _, err := image.DecodeConfig(bytes.NewReader(picture.Content))
		require.NoError(t, err)
		require.LessOrEqual(t, max(config.Width, config.Height), limits.OutputSide)
	})
}
