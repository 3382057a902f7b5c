package filetype_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/filetype"
)

// heads are beginnings of files.
var heads = map[string]string{
	"jpeg": "\xff\xd8\xff\xe0\x00\x10JFIF", "png": "\x89PNG\r\n\x1a\n\x00", "webp": "RIFF\x00\x00\x00\x00WEBPVP8 ", "gif": "GIF89a\x01\x00",
	"ogg": "OggS\x00\x02", "mp3 with tags": "ID3\x03\x00", "mp3": "\xff\xfb\x90\x44", "m4a": "\x00\x00\x00\x20ftypM4A \x00", "amr": "#!AMR\n\x0c",
	"mp4": "\x00\x00\x00\x20ftypisom\x00", "3gp": "\x00\x00\x00\x20ftyp3gp4\x00", "heic": "\x00\x00\x00\x20ftypheic\x00", "quicktime": "\x00\x00\x00\x14ftypqt  \x00",
	"pdf": "%PDF-1.7\n", "zip": "PK\x03\x04\x14\x00", "doc": "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "text": "Olá, Ana\n", "html": "<html><script>alert(1)</script>", "program": "MZ\x90\x00\x03", "nothing": "",
	"svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "svg with a prolog": "\ufeff<?xml version=\"1.0\"?>\n<!-- by hand -->\n<svg>", "page with svg": "<html><svg>",
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"jpeg": "image image/jpeg", "png": "image image/png", "webp": "image image/webp", "gif": "document image/gif",
		"ogg": "audio audio/ogg", "mp3 with tags": "audio audio/mpeg", "mp3": "audio audio/mpeg", "m4a": "audio audio/mp4", "amr": "audio audio/amr",
		"mp4": "video video/mp4", "3gp": "video video/3gpp", "heic": "document application/octet-stream", "quicktime": "document application/octet-stream",
		"pdf": "document application/pdf", "zip": "document application/zip", "doc": "document application/x-ole-storage",
		"text": "document text/plain; charset=utf-8", "html": "document text/plain; charset=utf-8", "program": "document application/octet-stream", "nothing": "document application/octet-stream",
		"svg": "document image/svg+xml", "svg with a prolog": "document image/svg+xml", "page with svg": "document text/plain; charset=utf-8",
	} {
		got := filetype.Sniff([]byte(heads[name]))
		require.Equal(t, want, string(got.Media)+" "+got.Mime, name)
	}
	cut := []byte("é é")
	require.Equal(t, "text/plain; charset=utf-8", filetype.Sniff(cut[:len(cut)-1]).Mime, "cut within a character")
	require.Equal(t, filetype.Binary, filetype.Sniff([]byte("a\xff\xff\xff\xff\xff")))
}

// What is said of a file is right, or says nothing, or is a lie.
func TestResolve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		head     string
		declared filetype.Declared
		want     string // "" = they contradict each other
	}{
		{"png", filetype.Declared{}, "image image/png"},
		{"png", filetype.Declared{Media: "image", Mime: "image/png", Name: "a.png"}, "image image/png"},
		{"png", filetype.Declared{Mime: "image/jpeg", Name: "a.jpg"}, "image image/png"},
		{"png", filetype.Declared{Media: "document"}, "document image/png"},
		{"png", filetype.Declared{Media: "video"}, ""},
		{"png", filetype.Declared{Mime: "application/pdf"}, ""},
		{"png", filetype.Declared{Mime: "text/html"}, ""},
		{"png", filetype.Declared{Name: "a.pdf"}, ""},
		{"png", filetype.Declared{Mime: "application/octet-stream", Name: "a"}, "image image/png"},
		{"html", filetype.Declared{Mime: "image/png"}, ""},
		{"html", filetype.Declared{Mime: "image/png; charset"}, ""},
		{"html", filetype.Declared{Mime: " Image/PNG, image/png"}, ""},
		{"png", filetype.Declared{Mime: "picture"}, "image image/png"},
		{"png", filetype.Declared{Mime: "/"}, "image image/png"},
		{"html", filetype.Declared{Name: "photo.JPG"}, ""},
		{"html", filetype.Declared{Media: "image"}, ""},
		{"html", filetype.Declared{Mime: "image/svg+xml"}, ""},
		{"page with svg", filetype.Declared{Mime: "image/svg+xml"}, ""},
		{"svg", filetype.Declared{Mime: "image/svg+xml", Name: "logo.svg"}, "document image/svg+xml"},
		{"svg", filetype.Declared{Media: "document", Mime: "image/svg+xml"}, "document image/svg+xml"},
		{"svg with a prolog", filetype.Declared{Name: "logo.svg"}, "document image/svg+xml"},
		{"svg", filetype.Declared{Media: "image", Mime: "image/svg+xml"}, ""},
		{"svg", filetype.Declared{Mime: "image/png"}, ""},
		{"svg", filetype.Declared{Mime: "image/svg+xml", Name: "logo.png"}, ""},
		{"svg", filetype.Declared{Name: "photo.jpg"}, ""},
		{"svg", filetype.Declared{}, "document text/plain; charset=utf-8"},
		{"svg", filetype.Declared{Mime: "application/xml", Name: "logo.svg"}, "document text/plain; charset=utf-8"},
		{"png", filetype.Declared{Mime: "image/svg+xml", Name: "logo.svg"}, "image image/png"},
		{"html", filetype.Declared{Mime: "text/html", Name: "page.html"}, "document text/plain; charset=utf-8"},
		{"png", filetype.Declared{Mime: "text/plain", Name: "p.txt"}, ""},
		{"png", filetype.Declared{Name: "p.txt"}, ""},
		{"pdf", filetype.Declared{Mime: "text/plain; charset=utf-8"}, ""},
		{"zip", filetype.Declared{Mime: "text/plain"}, ""},
		{"text", filetype.Declared{Mime: "text/plain", Name: "p.txt"}, "document text/plain; charset=utf-8"},
		{"text", filetype.Declared{Mime: "text/plain", Name: "list.csv"}, "document text/plain; charset=utf-8"},
		{"svg", filetype.Declared{Mime: "text/plain", Name: "logo.svg"}, "document text/plain; charset=utf-8"},
		{"html", filetype.Declared{Mime: "text/plain"}, "document text/plain; charset=utf-8"},
		{"program", filetype.Declared{Mime: "text/plain", Name: "latin1.txt"}, "document application/octet-stream"}, // such as text in another encoding
		{"nothing", filetype.Declared{Mime: "text/plain"}, "document application/octet-stream"},
		{"gif", filetype.Declared{Mime: "image/gif", Name: "a.gif"}, "document image/gif"},
		{"gif", filetype.Declared{Media: "image"}, ""},
		{"heic", filetype.Declared{Mime: "image/heic"}, ""},
		{"mp4", filetype.Declared{Mime: "video/mp4"}, "video video/mp4"},
		{"mp4", filetype.Declared{Media: "audio"}, "audio audio/mp4"},
		{"mp4", filetype.Declared{Name: "voice.m4a"}, "audio audio/mp4"},
		{"m4a", filetype.Declared{Media: "video"}, ""},
		{"ogg", filetype.Declared{Mime: "audio/ogg; codecs=opus"}, "audio audio/ogg"},
		{"ogg", filetype.Declared{Mime: "video/mp4"}, ""},
		{"program", filetype.Declared{Mime: "audio/mpeg"}, ""},
		{"program", filetype.Declared{Mime: "application/pdf", Name: "invoice.pdf"}, ""},
		{"program", filetype.Declared{Name: "setup.exe"}, "document application/octet-stream"},
		{"zip", filetype.Declared{Name: "plan.docx"}, "document application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"zip", filetype.Declared{Mime: "application/zip"}, "document application/zip"},
		{"text", filetype.Declared{Name: "plan.docx"}, ""},
		{"pdf", filetype.Declared{Media: "document", Mime: "application/pdf", Name: "a.pdf"}, "document application/pdf"},
		{"pdf", filetype.Declared{Media: "sticker"}, ""},
		{"doc", filetype.Declared{Mime: "application/msword", Name: "a.doc"}, "document application/x-ole-storage"},
	} {
		got, ok := filetype.Resolve(filetype.Sniff([]byte(heads[test.head])), test.declared)
		if test.want == "" {
			require.False(t, ok, "%s %+v", test.head, test.declared)
			continue
		}
		require.True(t, ok, "%s %+v", test.head, test.declared)
		require.Equal(t, test.want, string(got.Media)+" "+got.Mime, "%s %+v", test.head, test.declared)
	}
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	for kind, mebibytes := range map[chat.MediaType]int64{chat.MediaImage: 5, chat.MediaSticker: 5, chat.MediaAudio: 16, chat.MediaVideo: 16, chat.MediaDocument: 100} {
		require.Equal(t, mebibytes<<20, filetype.MaxBytes(kind), kind)
	}
}
