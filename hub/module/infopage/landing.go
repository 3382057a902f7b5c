package infopage

import (
	"net/http"
	"path"

	"github.com/google/uuid"
)

// Text is the content of a landing page in one language.
type Text struct{ Title, Text string }

// LinkLandingPage returns the handler of the links that connected products show for a
// resource, such as an appointment. The path ends with the resource's id. The page says
// where to find the resource, but not whether it exists, because the link's holder may
// not be allowed to know. texts has an entry for each supported language.
func LinkLandingPage(brand string, texts map[string]Text) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		if _, err := uuid.Parse(path.Base(r.URL.Path)); err != nil {
			http.NotFound(w, r)
			return
		}
		tag, _ := ChooseLanguage(r)
		err := Page{Status: http.StatusOK, Lang: tag, Brand: brand, Title: texts[tag].Title, Text: texts[tag].Text, Path: r.URL.EscapedPath()}.Write(w)
		if err != nil {
			http.Error(w, texts[tag].Title, http.StatusInternalServerError)
		}
	})
}
