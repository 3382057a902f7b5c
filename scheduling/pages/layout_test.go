package pages_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

var update = flag.Bool("update", false, "write the references of the layout anew")

// references are the boxes and pictures that the pages are compared with.
const references = "testdata/layout"

// "Screenshots of every step at 390 and 1280 px are compared in tests." Boxes of elements
// are compared to the pixel, because the pages bring their font along. Pictures are compared
// coarsely, because machines draw letters differently. `make layout` renews both.
func TestLayout(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	s := newStudio(t)
	out := t.TempDir()
	hubtest.RunInBrowser(t, "scheduling/pages/browser/layout.mjs", object{"url": s.Hub.URL, "now": friday, "out": out, "pages": s.layoutPages()})
	made, err := filepath.Glob(filepath.Join(out, "*.png"))
	require.NoError(t, err)
	require.Len(t, made, 2*len(s.layoutNames()))
	if *update {
		require.NoError(t, os.RemoveAll(references))
		require.NoError(t, os.MkdirAll(references, 0o755))
	}
	for _, picture := range made {
		name := strings.TrimSuffix(filepath.Base(picture), ".png")
		boxes := readFile(t, filepath.Join(out, name+".json"))
		small := shrink(decode(t, readFile(t, picture)))
		if *update {
			writeReference(t, name, boxes, small)
			continue
		}
		want, err := os.ReadFile(filepath.Join(references, name+".json"))
		require.NoError(t, err, "a new page needs references: make layout")
		for _, difference := range compareBoxes(parseBoxes(t, want), parseBoxes(t, boxes)) {
			t.Errorf("%s: %s; if that is meant: make layout", name, difference)
		}
		if difference := comparePictures(decode(t, readFile(t, filepath.Join(references, name+".png"))), small); difference != "" {
			t.Errorf("%s: %s; if that is meant: make layout", name, difference)
		}
	}
	kept, err := filepath.Glob(filepath.Join(references, "*.png"))
	require.NoError(t, err)
	require.Len(t, kept, len(made), "references of pages that are no more: make layout")
}

// layoutPage is a page to compare. typed is filled into its form, which is sent.
type layoutPage struct {
	Name   string            `json:"name"`
	Path   string            `json:"path"`
	Zone   string            `json:"zone,omitempty"`
	Status int               `json:"status"`
	Typed  map[string]string `json:"typed,omitempty"`
}

func (s *studio) layoutNames() []string {
	return []string{
		"service", "professional", "day", "time", "time-elsewhere", "no-times", "details", "details-wrong", "taken", "done", "deposit", "cancel", "cancelled",
		"move-day", "move-time", "move", "unknown",
	}
}

// layoutPages returns every step of a booking and of its changes.
func (s *studio) layoutPages() []layoutPage {
	s.T.Helper()
	s.withContact()
	s.changeSettings(object{"booking_page": object{
		"primary_color": "#7C5CFC", "welcome_message": "Que bom ter você por aqui.", "cancellation_policy": "Cancele até 24 horas antes.", "terms_url": "https://example.com/termos",
	}})
	colour := s.addService(object{"name": "Coloração", "duration_minutes": 150, "price": 380, "requires_deposit": true, "deposit_amount": 95, "color": "#D946EF", "category": "Cor"})
	s.setServices(s.bruno, s.service, colour)
	require.Equal(s.T, 200, s.Upload("/services/"+s.service+"/image", "file", s.PNG(90, 60, color.RGBA{R: 220, G: 120, B: 40, A: 255})).Status)
	require.Equal(s.T, 200, s.Upload("/professionals/"+s.ana+"/avatar", "file", s.PNG(60, 60, color.RGBA{G: 120, B: 90, A: 255})).Status)
	s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.ana, "date": "2026-03-10", "exception_type": "block"})

	v := s.visitor("pt-BR")
	done := token(s.T, s.booked(v, "2026-03-05T08:00:00-03:00").path)
	cancelled := s.booked(v, "2026-03-06T08:00:00-03:00")
	v.follow(v.submit(v.click(cancelled, "Cancelar ou remarcar")))
	held := v.get(200, s.path("details", "service", colour, "professional", s.bruno, "start", "2026-03-05T08:00:00-03:00"))
	deposit := v.follow(v.submit(held, "name", "Gil Prado", "phone", "(11) 91234-5678"))
	ana := []string{"service", s.service, "professional", s.ana}
	typed := map[string]string{"name": "Lia Costa", "phone": "(11) 98765-4321", "email": "lia@example.com"}
	paths := map[string]layoutPage{
		"service": {Path: s.path("")}, "professional": {Path: s.path("professional", "service", s.service)},
		"day": {Path: s.path("day", append(ana, "month", "2026-03")...)}, "time": {Path: s.path("time", append(ana, "date", "2026-03-04")...)},
		"time-elsewhere": {Path: s.path("time", append(ana, "date", "2026-03-04")...), Zone: "Europe/Lisbon"},
		"no-times":       {Path: s.path("time", append(ana, "date", "2026-03-10")...)},
		"details":        {Path: s.path("details", append(ana, "start", monday)...)},
		"details-wrong":  {Path: s.path("details", append(ana, "start", monday)...), Typed: map[string]string{"name": "Lia Costa"}, Status: 422},
		"taken":          {Path: s.path("details", append(ana, "start", "2026-03-05T08:00:00-03:00")...), Typed: typed, Status: 409},
		"done":           {Path: s.path("done", "token", done)}, "deposit": {Path: deposit.path},
		"cancel": {Path: s.path("cancel", "token", done)}, "cancelled": {Path: s.path("cancel", "token", token(s.T, cancelled.path))},
		"move-day": {Path: s.path("move", "token", done, "month", "2026-03")}, "move-time": {Path: s.path("move", "token", done, "date", "2026-03-09")},
		"move": {Path: s.path("move", "token", done, "start", "2026-03-09T08:00:00-03:00")}, "unknown": {Path: "/book/nobody-here", Status: 404},
	}
	var pages []layoutPage
	for _, name := range s.layoutNames() {
		step := paths[name]
		require.NotEmpty(s.T, step.Path, name)
		if step.Name = name; step.Status == 0 {
			step.Status = 200
		}
		pages = append(pages, step)
	}
	return pages
}

// box is where an element is, and what it is.
type box struct {
	name string
	rect [4]int // x, y, width, height in pixels
}

func parseBoxes(t *testing.T, raw []byte) []box {
	t.Helper()
	var rows [][]any
	require.NoError(t, json.Unmarshal(raw, &rows))
	boxes := make([]box, len(rows))
	for i, row := range rows {
		boxes[i].name = row[0].(string)
		for side := range 4 {
			boxes[i].rect[side] = int(row[side+1].(float64))
		}
	}
	return boxes
}

// compareBoxes returns the first differences. One pixel is what rounding may cost.
func compareBoxes(want, got []box) (differences []string) {
	const most, tolerance = 5, 1
	for i := range max(len(want), len(got)) {
		switch {
		case len(differences) == most:
			return append(differences, "and more")
		case i >= len(got):
			return append(differences, fmt.Sprintf("%q is missing", want[i].name))
		case i >= len(want):
			return append(differences, fmt.Sprintf("%q is new", got[i].name))
		case want[i].name != got[i].name:
			return append(differences, fmt.Sprintf("%q stands where %q was", got[i].name, want[i].name))
		}
		for side := range 4 {
			if distance := want[i].rect[side] - got[i].rect[side]; max(distance, -distance) > tolerance {
				differences = append(differences, fmt.Sprintf("%q is at %v instead of %v (x, y, width, height)", got[i].name, got[i].rect, want[i].rect))
				break
			}
		}
	}
	return differences
}

// cell is the side of the squares, in pixels, whose mean color is compared.
const cell = 8

// shrink returns a picture with one pixel for each cell: the mean of its colors.
func shrink(full image.Image) *image.RGBA {
	size := full.Bounds().Size()
	small := image.NewRGBA(image.Rect(0, 0, size.X/cell, size.Y/cell))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			var sum [3]uint32
			for i := range cell * cell {
				r, g, b, _ := full.At(x*cell+i%cell, y*cell+i/cell).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			const pixels = cell * cell
			small.SetRGBA(x, y, color.RGBA{uint8(sum[0] / pixels), uint8(sum[1] / pixels), uint8(sum[2] / pixels), 255})
		}
	}
	return small
}

// comparePictures returns how shrunken pictures differ, or "". The colors of a cell may be
// apart by as much as letters are that another machine draws.
func comparePictures(want, got image.Image) string {
	const tolerance, percent = 40, 1 // of 255; of the cells
	wantSize, gotSize := want.Bounds().Size(), got.Bounds().Size()
	if wantSize.X != gotSize.X || max(wantSize.Y-gotSize.Y, gotSize.Y-wantSize.Y) > 1 {
		return fmt.Sprintf("the page has %v cells instead of %v", gotSize, wantSize)
	}
	different, first := 0, image.Point{}
	height := min(wantSize.Y, gotSize.Y)
	for y := range height {
		for x := range wantSize.X {
			if colorDistance(want.At(x, y), got.At(x, y)) > tolerance {
				if different++; different == 1 {
					first = image.Pt(x*cell, y*cell)
				}
			}
		}
	}
	if different*100 <= percent*height*wantSize.X {
		return ""
	}
	return fmt.Sprintf("%d of %d cells look different, the first at %v", different, height*wantSize.X, first)
}

// colorDistance returns the largest difference of a channel, 0 to 255.
func colorDistance(a, b color.Color) int {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	largest := 0
	for _, pair := range [3][2]uint32{{ar, br}, {ag, bg}, {ab, bb}} {
		distance := int(pair[0]>>8) - int(pair[1]>>8)
		largest = max(largest, distance, -distance)
	}
	return largest
}

func writeReference(t *testing.T, name string, boxes []byte, picture image.Image) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(references, name+".json"), boxes, 0o644))
	var encoded bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(&encoded, picture))
	require.NoError(t, os.WriteFile(filepath.Join(references, name+".png"), encoded.Bytes(), 0o644))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}

func decode(t *testing.T, raw []byte) image.Image {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	return picture
}

// The comparison itself: a checkbox as large as a text field, an element more or less, and
// another color are seen; a pixel and the drawing of letters are not.
func TestLayoutIsCompared(t *testing.T) {
	t.Parallel()
	want := []box{{"label", [4]int{20, 100, 350, 42}}, {"input", [4]int{20, 110, 22, 22}}}
	require.Empty(t, compareBoxes(want, []box{{"label", [4]int{20, 101, 350, 42}}, {"input", [4]int{20, 110, 21, 22}}}))
	require.Len(t, compareBoxes(want, []box{want[0], {"input", [4]int{20, 110, 392, 50}}}), 1)
	require.Equal(t, []string{`"input" is missing`}, compareBoxes(want, want[:1]))
	require.Equal(t, []string{`"input" is new`}, compareBoxes(want[:1], want))

	page := image.NewRGBA(image.Rect(0, 0, 400, 800))
	for i := range page.Pix {
		page.Pix[i] = 255
	}
	letters, button := image.NewRGBA(page.Rect), image.NewRGBA(page.Rect)
	copy(letters.Pix, page.Pix)
	copy(button.Pix, page.Pix)
	for y := 100; y < 152; y++ {
		for x := 20; x < 380; x++ {
			button.Set(x, y, color.RGBA{R: 124, G: 92, B: 252, A: 255})
			if x%9 == 0 {
				letters.Set(x, y, color.Black)
			}
		}
	}
	require.Empty(t, comparePictures(shrink(page), shrink(letters)))
	require.NotEmpty(t, comparePictures(shrink(page), shrink(button)))
}
