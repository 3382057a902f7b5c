package infopage

import (
	"net/http"
	"path"

	"github.com/google/uuid"
)

// Text are what a signpost says in one language.
type Text struct{ Title, Text string }

// LinkLandingPage is the page behind the links that connected products show to one thing, such
// as an appointment: the address is a path with its id. It says where to look for the
// thing, and nothing about it, not even whether it is there: whoever has the link need
// not be somebody who may know. Products that get an application for their users put
// the thing itself in its place. words are by language, in all three.
func LinkLandingPage(brand string, words map[string]Text) http.Handler {
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
		err := Page{Status: http.StatusOK, Lang: tag, Brand: brand, Title: words[tag].Title, Text: words[tag].Text, Path: r.URL.EscapedPath()}.Write(w)
		if err != nil {
			http.Error(w, words[tag].Title, http.StatusInternalServerError)
		}
	})
}
