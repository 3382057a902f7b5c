package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// templates returns the pages, each within layout.html. They are parsed when the first is
// rendered: each command of hub would wait for them.
var templates = sync.OnceValue(func() map[string]*template.Template {
	return parseTemplates("services", "professionals", "day", "time", "details", "booking", "cancel", "reschedule", "unsubscribe", "notice")
})

func parseTemplates(names ...string) map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(template.FuncMap{"sentence": capitalize}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	parsed := make(map[string]*template.Template, len(names))
	for _, name := range names {
		parsed[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return parsed
}

// document is the template data of layout.html.
type document struct {
	T           *messages
	Lang        string
	Title       string
	Heading     string
	Description string
	Style       template.CSS // of the organization's colour
	CSS, JS     string       // addresses
	Font        string
	Indexed     bool

	Org             *organizationView // nil: none
	HasContact      bool              // the page ends with the address and phone
	Home            string
	Welcome         string // on the first step only
	StepCount       string // Step 2 of 5
	Steps           []stepMark
	Summary         *summary
	Languages       []languageLink
	Terms, Privacy  string
	Body            any
	Zone, ClockHour string // for the script
}

// organizationView is the organization in the layout.
type organizationView struct {
	Name, Initial string
	Logo          string
	Phone         string
	PhoneTo       template.URL
	Address       string
}

// stepMark is a step in the progress bar.
type stepMark struct {
	Name          string
	Done, Current bool
}

type languageLink struct {
	Name, Tag, Link string
	Current         bool
}

// writeReply writes a reply.
func (p *pageRequest) writeReply(w http.ResponseWriter, r *http.Request, response reply, indexed bool) {
	style := defaultStyle
	if color, ok := parseColor(p.appearance.PrimaryColor); ok {
		style = newTheme(color).css()
	}
	p.setHeaders(w.Header(), style, indexed)
	if response.location != "" {
		w.Header().Set("Location", response.location)
		w.WriteHeader(response.status)
		return
	}
	if attachment := response.file; attachment != nil {
		w.Header().Set("Content-Type", attachment.kind)
		w.Header().Set("Content-Disposition", `attachment; filename="`+attachment.name+`"`)
		_, _ = w.Write(attachment.bytes) // the visitor may have gone
		return
	}
	page := p.newDocument(r, response, style)
	page.Indexed = indexed
	var out bytes.Buffer
	if err := templates()[response.template].ExecuteTemplate(&out, "layout", page); err != nil {
		p.host.Log.ErrorContext(p.ctx, "rendering a booking page failed", "page", response.template, "error", err)
		http.Error(w, p.messages().BrokenTitle, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", p.lang.tag)
	if response.status == 0 {
		response.status = http.StatusOK
	}
	w.WriteHeader(response.status)
	_, _ = w.Write(out.Bytes()) // the visitor may have gone
}

// defaultStyle is the style of organizations without a colour.
var defaultStyle = newTheme(mustParseColor("#0f766e")).css()

// setHeaders restricts the page to the hub's own resources. Addresses with tokens stay out
// of referrers, caches and search engines.
func (p *pageRequest) setHeaders(header http.Header, style string, indexed bool) {
	sum := sha256.Sum256([]byte(style))
	ancestors := "'none'"
	if len(p.embedOrigins) > 0 {
		ancestors = "'self' " + strings.Join(p.embedOrigins, " ")
	} else {
		header.Set("X-Frame-Options", "DENY")
	}
	pictures := "'self' data: https: " + parseOrigin(p.host.Files.URL("")) // uploads, which may be at another origin than the visitor's
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; img-src "+pictures+"; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "+ancestors)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept-Language")
	if !indexed {
		header.Set("X-Robots-Tag", "noindex, nofollow")
	}
}

// phoneLink returns the link that calls a number.
func phoneLink(number string) template.URL {
	return template.URL("tel:" + url.PathEscape(number)) //nolint:gosec // cannot leave the number
}

func (p *pageRequest) logoURL() string {
	if !p.hasOrg {
		return ""
	}
	if address := p.publicBooking.LogoURL(p.org); address != nil {
		return *address
	}
	return ""
}

func (p *pageRequest) newDocument(r *http.Request, response reply, style string) *document {
	page := &document{
		T: p.messages(), Lang: p.lang.tag, Title: response.title, CSS: assets["app.css"].address, JS: assets["app.js"].address, Font: assets["inter.woff2"].address,
		Style:   template.CSS(style), //nolint:gosec // made of colours only
		Heading: response.title, Summary: response.summary, Body: response.body,
	}
	for _, lang := range languages {
		page.Languages = append(page.Languages, languageLink{lang.name, lang.tag, p.languageURL(r, lang), lang == p.lang})
	}
	if !p.hasOrg {
		return page
	}
	org := p.org
	page.Home, page.Zone, page.Terms, page.Privacy = p.linkTo(""), org.Timezone, p.appearance.TermsURL, p.appearance.PrivacyURL
	page.Org = &organizationView{Name: org.Name, Initial: initialOf(org.Name), Logo: p.logoURL()}
	if org.Phone != nil {
		page.Org.Phone = formatPhone(*org.Phone)
		page.Org.PhoneTo = phoneLink(*org.Phone)
	}
	if org.Address != nil {
		page.Org.Address = *org.Address
	}
	page.HasContact = !response.showsContact
	page.Title += " · " + org.Name
	if page.ClockHour = "h23"; p.isTwelveHour() {
		page.ClockHour = "h12"
	}
	if response.step == 1 {
		page.Welcome = p.appearance.WelcomeMessage
		page.Description = p.messages().Powered + " · " + org.Name
	}
	if response.step > 0 {
		page.StepCount = fmt.Sprintf(p.messages().StepOf, response.step, len(p.messages().StepNames))
		for i, name := range p.messages().StepNames {
			page.Steps = append(page.Steps, stepMark{name, i+1 < response.step, i+1 == response.step})
		}
	}
	return page
}

// languageURL returns the address of the page in a language. Posted fields become query
// parameters.
func (p *pageRequest) languageURL(r *http.Request, lang *language) string {
	query := url.Values{}
	for name, values := range p.query {
		query[name] = values
	}
	for _, name := range []string{"service", "professional", fieldStart, "token"} {
		if value := p.form.Get(name); value != "" {
			query.Set(name, value)
		}
	}
	query.Set("lang", lang.tag)
	return r.URL.EscapedPath() + "?" + query.Encode()
}
