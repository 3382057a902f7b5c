package schedulingtest

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"mime/multipart"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
)

// Upload posts a form with a file.
func (o *Organization) Upload(path, field string, content []byte) moduletest.Response {
	o.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, "../../logo.svg")
	require.NoError(o.T, err)
	_, err = part.Write(content)
	require.NoError(o.T, err)
	require.NoError(o.T, form.Close())
	return o.Call("POST", path, body.String(), "Content-Type", form.FormDataContentType())
}

// PNG returns a picture of one color.
func (o *Organization) PNG(width, height int, fill color.Color) []byte {
	o.T.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(fill), image.Point{}, draw.Src)
	var encoded bytes.Buffer
	require.NoError(o.T, png.Encode(&encoded, picture))
	return encoded.Bytes()
}
