package picture

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The picture has the measures of the standard: finder patterns in three corners,
// four light modules around.
func TestQRCode(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"2@tPmRk1vQ,sandbox", strings.Repeat("00020126580014br.gov.bcb.pix", 6)} {
		raw, err := QRCode(code)
		require.NoError(t, err)
		drawing, err := png.Decode(bytes.NewReader(raw))
		require.NoError(t, err)
		side := drawing.Bounds().Dx()
		require.Equal(t, side, drawing.Bounds().Dy())
		modules := side/moduleSize - 2*quietZone
		require.Zero(t, (modules-17)%4, "%d modules", modules)
		at := func(x, y int) bool {
			return isDark(drawing.At((x+quietZone)*moduleSize+moduleSize/2, (y+quietZone)*moduleSize+moduleSize/2))
		}
		for y := range side {
			for x := range side { // modules are squares of one shade
				center := func(i int) int { return i/moduleSize*moduleSize + moduleSize/2 }
				if drawing.At(x, y) != drawing.At(center(x), center(y)) {
					require.Equal(t, drawing.At(center(x), center(y)), drawing.At(x, y), "%d, %d", x, y)
				}
			}
		}
		finder := []string{"1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"}
		for _, corner := range [][2]int{{0, 0}, {modules - 7, 0}, {0, modules - 7}} {
			for y, row := range finder {
				for x, want := range row {
					require.Equal(t, want == '1', at(corner[0]+x, corner[1]+y))
				}
			}
		}
		for i := -quietZone; i < modules+quietZone; i++ {
			for _, edge := range []int{-quietZone, -1, modules, modules + quietZone - 1} {
				require.False(t, at(i, edge) || at(edge, i))
			}
		}
		require.Less(t, len(raw), 8<<10)
	}
	empty, err := QRCode("")
	require.NoError(t, err)
	require.Nil(t, empty)
	_, err = QRCode(strings.Repeat("x", 4000))
	require.Error(t, err, "more than a QR code holds")
}
