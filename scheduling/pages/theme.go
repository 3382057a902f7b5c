package pages

import (
	"fmt"
	"math"
	"strconv"
)

// rgb is a colour in sRGB, each channel 0 to 1.
type rgb struct{ r, g, b float64 }

// The colours that an organization's own is seen with. assets/app.css has the same.
var (
	white       = rgb{1, 1, 1}
	black       = rgb{}
	lightGround = mustParseColor("#f6f7f9") // behind everything
	lightCard   = white
	darkGround  = mustParseColor("#0e1116")
	darkCard    = mustParseColor("#171b22")
)

// Contrasts of WCAG 2.2, AA.
const (
	textContrast  = 4.5 // of text (1.4.3)
	shapeContrast = 3.0 // of what is not text (1.4.11)
)

// darkTextContrast is the contrast of text on dark pages, above the required minimum.
const darkTextContrast = 6.0

// theme is the set of colours derived from an organization's colour.
type theme struct {
	fill     rgb // the colour itself: behind the label of a button
	label    rgb // text on it
	hoverMix rgb // what it is mixed with where it is pointed at, so that its text stays readable
	// Each of the following for light and for dark pages.
	edge [2]rgb // around the fill: visible on cards and on the ground
	ink  [2]rgb // text and symbols in the colour: readable on cards, on the ground and on soft
	soft [2]rgb // a tint, behind ink
}

// newTheme derives the theme of a colour.
func newTheme(color rgb) theme {
	colors := theme{fill: color, label: white, hoverMix: black}
	if contrast(color, white) < textContrast { // one of the two always is
		colors.label, colors.hoverMix = black, white
	}
	for i, page := range []struct {
		ground, card, towards rgb
		tint, text            float64
	}{{lightGround, lightCard, black, 0.1, textContrast}, {darkGround, darkCard, white, 0.16, darkTextContrast}} {
		colors.soft[i] = mix(page.card, color, page.tint)
		colors.edge[i] = ensureContrast(color, page.towards, shapeContrast, page.ground, page.card, colors.soft[i])
		colors.ink[i] = ensureContrast(color, page.towards, page.text, page.ground, page.card, colors.soft[i])
	}
	return colors
}

// css returns the theme as custom properties. It is safe within a style element.
func (t theme) css() string {
	page := func(i int) string {
		return fmt.Sprintf("--edge:%s;--ink:%s;--soft:%s", t.edge[i], t.ink[i], t.soft[i])
	}
	return fmt.Sprintf(":root{--fill:%s;--on:%s;--away:%s;%s}@media(prefers-color-scheme:dark){:root{%s}}", t.fill, t.label, t.hoverMix, page(0), page(1))
}

// ensureContrast shifts a colour towards black or white until it contrasts with every
// background.
func ensureContrast(color, towards rgb, minimum float64, backgrounds ...rgb) rgb {
	for share := 0.0; share < 1; share += 0.02 {
		mixed := quantize(blend(color, towards, share, share*share))
		isEnough := true
		for _, background := range backgrounds {
			isEnough = isEnough && contrast(mixed, quantize(background)) >= minimum
		}
		if isEnough {
			return mixed
		}
	}
	return towards
}

// contrast returns the WCAG contrast ratio of two colours, 1 to 21.
func contrast(a, b rgb) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func (c rgb) luminance() float64 {
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

func linear(s float64) float64 {
	if s <= 0.04045 {
		return s / 12.92
	}
	return math.Pow((s+0.055)/1.055, 2.4)
}

func gamma(l float64) float64 {
	if l <= 0.0031308 {
		return 12.92 * max(l, 0)
	}
	return min(1.055*math.Pow(l, 1/2.4)-0.055, 1)
}

// mix interpolates between two colours in Oklab, where steps look even.
func mix(from, to rgb, share float64) rgb { return blend(from, to, share, share) }

// blend is mix with a separate share for chroma. A smaller share keeps the colour vivid
// while its lightness changes.
func blend(from, to rgb, lightness, color float64) rgb {
	a, b := from.oklab(), to.oklab()
	for i, share := range [3]float64{lightness, color, color} {
		a[i] += (b[i] - a[i]) * share
	}
	l, m, s := a[0]+0.3963377774*a[1]+0.2158037573*a[2], a[0]-0.1055613458*a[1]-0.0638541728*a[2], a[0]-0.0894841775*a[1]-1.2914855480*a[2]
	l, m, s = l*l*l, m*m*m, s*s*s
	return rgb{
		gamma(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		gamma(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		gamma(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
	}
}

func (c rgb) oklab() [3]float64 {
	r, g, b := linear(c.r), linear(c.g), linear(c.b)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// quantize rounds a colour to 256 steps per channel, as screens do.
func quantize(c rgb) rgb {
	step := func(channel float64) float64 { return math.Round(channel*255) / 255 }
	return rgb{step(c.r), step(c.g), step(c.b)}
}

// String returns #rrggbb.
func (c rgb) String() string {
	part := func(channel float64) int { return int(math.Round(channel * 255)) }
	return fmt.Sprintf("#%02x%02x%02x", part(c.r), part(c.g), part(c.b))
}

// parseColor parses #RRGGBB; ok is false for anything else.
func parseColor(value string) (color rgb, ok bool) {
	if len(value) != 7 || value[0] != '#' {
		return rgb{}, false
	}
	n, err := strconv.ParseUint(value[1:], 16, 32)
	return rgb{float64(n>>16) / 255, float64(n>>8&0xff) / 255, float64(n&0xff) / 255}, err == nil
}

func mustParseColor(value string) rgb {
	color, ok := parseColor(value)
	if !ok {
		panic("not a colour: " + value)
	}
	return color
}
