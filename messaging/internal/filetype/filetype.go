// Package filetype recognizes the types of attachments by their content. What a caller or
// a network says of a file is compared with it.
package filetype

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"integrationhub/messaging/internal/chat"
)

// HeadBytes is how much of a file [Sniff] looks at.
const HeadBytes = 512

// Limits of files in bytes.
const (
	maxImage    = 5 << 20
	maxAudio    = 16 << 20
	maxVideo    = 16 << 20
	maxDocument = 100 << 20
)

// MaxBytes returns how long a file of a kind may be.
func MaxBytes(kind chat.MediaType) int64 {
	switch kind {
	case chat.MediaImage, chat.MediaSticker:
		return maxImage
	case chat.MediaAudio:
		return maxAudio
	case chat.MediaVideo:
		return maxVideo
	}
	return maxDocument
}

// Type is the type of a file.
type Type struct {
	Media     chat.MediaType // how networks send it
	Mime      string
	Extension string // with its dot; "" = unknown
}

// Binary is the type of files that are not recognized.
var Binary = Type{chat.MediaDocument, "application/octet-stream", ""}

var (
	jpeg      = Type{chat.MediaImage, "image/jpeg", ".jpg"}
	png       = Type{chat.MediaImage, "image/png", ".png"}
	webp      = Type{chat.MediaImage, "image/webp", ".webp"}
	ogg       = Type{chat.MediaAudio, "audio/ogg", ".ogg"}
	mp3       = Type{chat.MediaAudio, "audio/mpeg", ".mp3"}
	m4a       = Type{chat.MediaAudio, "audio/mp4", ".m4a"}
	amr       = Type{chat.MediaAudio, "audio/amr", ".amr"}
	mp4       = Type{chat.MediaVideo, "video/mp4", ".mp4"}
	threeGP   = Type{chat.MediaVideo, "video/3gpp", ".3gp"}
	pdf       = Type{chat.MediaDocument, "application/pdf", ".pdf"}
	zip       = Type{chat.MediaDocument, "application/zip", ".zip"}
	ole       = Type{chat.MediaDocument, "application/x-ole-storage", ""}
	gif       = Type{chat.MediaDocument, "image/gif", ".gif"}     // networks do not send them as images
	svg       = Type{chat.MediaDocument, "image/svg+xml", ".svg"} // text that browsers would run: never shown as an image
	plainText = Type{chat.MediaDocument, "text/plain; charset=utf-8", ".txt"}
)

// officeTypes are the types of files that are ZIP archives inside, by extension.
var officeTypes = map[string]Type{
	".docx": {chat.MediaDocument, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"},
	".xlsx": {chat.MediaDocument, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"},
	".pptx": {chat.MediaDocument, "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"},
}

// Sniff returns the type of a file by its first [HeadBytes] bytes.
func Sniff(head []byte) Type {
	has := func(prefix string) bool { return bytes.HasPrefix(head, []byte(prefix)) }
	switch {
	case has("\xff\xd8\xff"):
		return jpeg
	case has("\x89PNG\r\n\x1a\n"):
		return png
	case has("RIFF") && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return webp
	case has("GIF87a"), has("GIF89a"):
		return gif
	case has("OggS"):
		return ogg
	case has("ID3"), len(head) >= 2 && head[0] == 0xff && head[1]&0xe6 == 0xe2: // MPEG audio, layer III
		return mp3
	case has("#!AMR"):
		return amr
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return sniffContainer(string(head[8:12]))
	case has("%PDF-"):
		return pdf
	case has("PK\x03\x04"), has("PK\x05\x06"):
		return zip
	case has("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
		return ole
	case isText(head) && isSVG(head):
		return svg
	case isText(head):
		return plainText
	}
	return Binary
}

// sniffContainer returns the type of a file in the ISO base media format by its brand.
func sniffContainer(brand string) Type {
	switch {
	case brand == "M4A " || brand == "M4B ":
		return m4a
	case strings.HasPrefix(brand, "3gp"), strings.HasPrefix(brand, "3g2"):
		return threeGP
	case brand == "qt  ", strings.HasPrefix(brand, "hei"), strings.HasPrefix(brand, "avif"), strings.HasPrefix(brand, "mif1"):
		return Binary
	}
	return mp4
}

// isText reports whether bytes are UTF-8 without control characters; the last character may
// be cut.
func isText(head []byte) bool {
	if len(head) == 0 || bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }) {
		return false
	}
	for range utf8.UTFMax {
		if utf8.Valid(head) {
			return true
		}
		head = head[:len(head)-1]
		if len(head) == 0 {
			return false
		}
	}
	return false
}

// isSVG reports whether a text begins as an SVG image does.
func isSVG(head []byte) bool {
	start := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	for _, beginning := range []string{"<svg", "<?xml", "<!--", "<!DOCTYPE svg"} {
		if bytes.HasPrefix(start, []byte(beginning)) {
			return bytes.Contains(start, []byte("<svg"))
		}
	}
	return false
}

// Declared is what a caller or a network says a file is.
type Declared struct {
	Media chat.MediaType // "" = nothing
	Mime  string         // Content-Type; "" = nothing
	Name  string         // of the file; "" = nothing
}

// Resolve returns the type of a file from its content and from what was declared. ok
// is false if they contradict each other.
func Resolve(sniffed Type, declared Declared) (resolved Type, ok bool) {
	mimeType := mediaTypeOf(declared.Mime)
	extension := strings.ToLower(path.Ext(declared.Name))
	resolved = sniffed
	if sniffed == mp4 && (declared.Media == chat.MediaAudio || strings.HasPrefix(mimeType, "audio/") || mimeType == "" && extension == ".m4a") {
		resolved = m4a // the same container; only what is declared distinguishes them
	}
	isNamedSVG := mimeType == svg.Mime || mimeType == "" && extension == svg.Extension
	if sniffed == svg && !isNamedSVG {
		resolved = plainText
	}
	if office, isOffice := officeTypes[extension]; isOffice && sniffed == zip {
		resolved = office
	}
	if !agreesWithMime(resolved, mimeType) || !agreesWithExtension(resolved, extension) {
		return resolved, false
	}
	switch declared.Media {
	case "", resolved.Media:
		return resolved, true
	case chat.MediaDocument:
		resolved.Media = chat.MediaDocument
		return resolved, true
	}
	return resolved, false
}

// mediaTypeOf returns the media type of a Content-Type in lowercase, whatever its parameters are; ""
// where it says nothing of the content.
func mediaTypeOf(contentType string) string {
	end := strings.IndexAny(contentType, ";,")
	if end < 0 {
		end = len(contentType)
	}
	name := strings.ToLower(strings.TrimSpace(contentType[:end]))
	if kind, subtype, _ := strings.Cut(name, "/"); kind == "" || subtype == "" || isGeneric(name) {
		return ""
	}
	return name
}

// isGeneric reports whether a media type says nothing about the content.
func isGeneric(name string) bool {
	switch name {
	case "", "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded":
		return true
	}
	return false
}

// agreesWithMime reports whether a declared media type can be that of a file. What is
// declared of documents is not checked further where their content has no mark of its own.
func agreesWithMime(actual Type, declared string) bool {
	kind, _, _ := strings.Cut(declared, "/")
	actualKind, _, _ := strings.Cut(actual.Mime, "/")
	switch {
	case declared == "":
		return true
	case kind == "image", kind == "audio", kind == "video":
		return kind == actualKind
	case declared == pdf.Mime:
		return actual == pdf
	case kind == "text":
		return mayBeText(actual)
	}
	return actual.Media == chat.MediaDocument && actualKind != "image"
}

// mayBeText reports whether a file can be text. Text that is not UTF-8 is not recognized.
func mayBeText(actual Type) bool { return actual == plainText || actual == svg || actual == Binary }

// agreesWithExtension reports whether a file's name can be that of its type.
func agreesWithExtension(actual Type, extension string) bool {
	switch extension {
	case ".jpg", ".jpeg", ".png", ".webp", ".gif":
		return strings.HasPrefix(actual.Mime, "image/") && actual != svg
	case ".ogg", ".oga", ".opus", ".mp3", ".m4a", ".amr":
		return actual.Media == chat.MediaAudio
	case ".mp4", ".3gp":
		return actual.Media == chat.MediaVideo
	case ".pdf":
		return actual == pdf
	case ".txt":
		return mayBeText(actual)
	case ".docx", ".xlsx", ".pptx", ".zip":
		return actual.Media == chat.MediaDocument && actual != pdf && actual != plainText
	}
	return true
}

// MimeTypes returns every media type that a [Type] has, without parameters.
func MimeTypes() []string {
	types := []string{Binary.Mime, "text/plain"}
	for _, known := range []Type{jpeg, png, webp, gif, svg, ogg, mp3, m4a, amr, mp4, threeGP, pdf, zip, ole, officeTypes[".docx"], officeTypes[".xlsx"], officeTypes[".pptx"]} {
		types = append(types, known.Mime)
	}
	return types
}
