package pages_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"integrationhub/hub/hubtest"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// visitor is a browser without JavaScript that shows every answer before it follows it.
type visitor struct {
	t        testing.TB
	base     string
	language string // Accept-Language
}

func (s *studio) visitor(language string) *visitor {
	return &visitor{t: s.T, base: s.Hub.URL, language: language}
}

// path is the address of one of the studio's pages.
func (s *studio) path(step string, pairs ...string) string {
	path := "/book/" + s.Slug
	if step != "" {
		path += "/" + step
	}
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + query.Encode()
}

// page is what a visitor sees.
type page struct {
	t        testing.TB
	path     string
	status   int
	header   http.Header
	body     string
	document *html.Node
}

func (v *visitor) send(method, path, body string, headers ...string) *page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(body))
	require.NoError(v.t, err)
	r.Header.Set("Accept-Language", v.language)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := hubtest.HTTPClient.Transport.RoundTrip(r)
	require.NoError(v.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	p := &page{t: v.t, path: path, status: res.StatusCode, header: res.Header, body: string(raw)}
	p.document, err = html.Parse(strings.NewReader(p.body))
	require.NoError(v.t, err)
	return p
}

// get asks for a page and requires a status.
func (v *visitor) get(status int, path string) *page {
	v.t.Helper()
	p := v.send(http.MethodGet, path, "")
	require.Equal(v.t, status, p.status, "%s: %s", path, p.text())
	return p
}

// follow goes where a redirection leads.
func (v *visitor) follow(p *page) *page {
	v.t.Helper()
	require.Equal(v.t, http.StatusSeeOther, p.status, p.text())
	return v.get(200, p.header.Get("Location"))
}

// click follows the first link with a text.
func (v *visitor) click(p *page, text string) *page {
	v.t.Helper()
	next := v.send(http.MethodGet, p.link(text), "")
	if next.status == http.StatusSeeOther {
		return v.follow(next)
	}
	require.Equal(v.t, 200, next.status, next.text())
	return next
}

// submit sends the page's form, with what is typed in pairs.
func (v *visitor) submit(p *page, pairs ...string) *page {
	v.t.Helper()
	action, fields := p.form()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(v.t, fields, pairs[i], "the form has such a field")
		fields.Set(pairs[i], pairs[i+1])
	}
	return v.send(http.MethodPost, action, fields.Encode())
}

// each calls f with every element.
func (p *page) each(f func(*html.Node)) {
	for n := range p.document.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

// all are the elements with a name and, where it is given, an attribute: "class=slot".
func (p *page) all(name, attribute string) []*html.Node {
	var found []*html.Node
	key, value, _ := strings.Cut(attribute, "=")
	p.each(func(n *html.Node) {
		has := attribute == ""
		if key == "class" {
			for _, class := range strings.Fields(attr(n, key)) {
				has = has || class == value
			}
		} else if attribute != "" {
			has = attr(n, key) == value
		}
		if (name == "" || n.Data == name) && has {
			found = append(found, n)
		}
	})
	return found
}

// requireOne returns the only such element.
func (p *page) requireOne(name, attribute string) *html.Node {
	p.t.Helper()
	found := p.all(name, attribute)
	require.Len(p.t, found, 1, "%s %s in %s", name, attribute, p.path)
	return found[0]
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// textOf is what an element says, with single spaces.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "style" && d.Parent.Data != "script" {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }), " ")
}

func (p *page) text() string { return textOf(p.document) }

// h1 is what the page is about.
func (p *page) h1() string {
	p.t.Helper()
	return textOf(p.requireOne("h1", ""))
}

// link is where the first link with a text, or a name, leads.
func (p *page) link(text string) string {
	p.t.Helper()
	for _, a := range p.all("a", "") {
		if href := attr(a, "href"); href != "" && (strings.Contains(textOf(a), text) || strings.Contains(attr(a, "aria-label"), text)) {
			return href
		}
	}
	require.Fail(p.t, "no such link", "%q in %s: %s", text, p.path, p.text())
	return ""
}

// links are where the links of a class lead.
func (p *page) links(class string) []string {
	var list []string
	for _, a := range p.all("a", "class="+class) {
		if href := attr(a, "href"); href != "" {
			list = append(list, href)
		}
	}
	return list
}

// form is where the page's form goes, and what is in it as it stands.
func (p *page) form() (action string, fields url.Values) {
	p.t.Helper()
	form := p.requireOne("form", "")
	require.Equal(p.t, "post", attr(form, "method"))
	fields = url.Values{}
	for n := range form.Descendants() {
		if n.Type != html.ElementNode || attr(n, "name") == "" {
			continue
		}
		switch {
		case n.Data == "textarea":
			value := ""
			if n.FirstChild != nil {
				value = n.FirstChild.Data
			}
			fields.Set(attr(n, "name"), value)
		case n.Data == "input" && (attr(n, "type") == "radio" || attr(n, "type") == "checkbox"):
			for _, a := range n.Attr {
				if a.Key == "checked" {
					fields.Set(attr(n, "name"), attr(n, "value"))
				}
			}
		case n.Data == "input":
			fields.Set(attr(n, "name"), attr(n, "value"))
		}
	}
	return attr(form, "action"), fields
}

// value is what a field of the form holds.
func (p *page) value(name string) string {
	p.t.Helper()
	_, fields := p.form()
	return fields.Get(name)
}
