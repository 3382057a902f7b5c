package pages

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
)

//go:embed assets
var assetFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// assetsPath is the path of the assets below [Root]. It is not a valid slug.
const assetsPath = "_"

// asset is a static file of the pages.
type asset struct {
	address string
	kind    string
	bytes   []byte
}

var assets = loadAssets([]asset{
	{"app.css", "text/css; charset=utf-8", nil}, {"app.js", "text/javascript; charset=utf-8", nil}, {"inter.woff2", "font/woff2", nil},
})

// loadAssets reads the files named by address. All addresses share a version, so that the
// files can refer to each other; it changes with any of them.
func loadAssets(list []asset) map[string]asset {
	version := sha256.New()
	for i := range list {
		bytes, err := fs.ReadFile(assetFiles, "assets/"+list[i].address)
		if err != nil {
			panic("the program lacks an asset of its own: " + list[i].address)
		}
		list[i].bytes = bytes
		version.Write(bytes)
	}
	loaded := make(map[string]asset, len(list))
	for _, entry := range list {
		name := entry.address
		entry.address = Root + assetsPath + "/" + hex.EncodeToString(version.Sum(nil)[:6]) + "/" + name
		loaded[name] = entry
	}
	return loaded
}

// serveAsset serves a file by its name under any version: pages from before an update
// still find it.
func serveAsset(w http.ResponseWriter, r *http.Request, rest string) {
	entry, ok := assets[path.Base(rest)]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", entry.kind)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.URL.Path == entry.address {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	_, _ = w.Write(entry.bytes) // the visitor may have gone
}
