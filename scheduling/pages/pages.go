// Package pages is what clients of an organization see in a browser: /book/<slug> with
// one address for each step, and the pages by which they change what they booked. The
// rules are package public's; here is how they look, in three languages, without
// needing JavaScript.
package pages

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// Root is the path below which the pages lie.
const Root = "/book/"

// Pages serves them. It is safe for concurrent use.
type Pages struct {
	host module.Host
	desk *publicbooking.PublicBooking
}

// New makes the pages of an opened product.
func New(host module.Host, desk *publicbooking.PublicBooking) *Pages { return &Pages{host, desk} }

// visit is one request for a page.
type visit struct {
	*Pages
	ctx   context.Context
	query url.Values // of the address
	form  url.Values // what was posted
	slug  string
	step  string
	now   time.Time

	lang      *language
	asked     bool // the address says which language
	org       store.Org
	known     bool // there is an organization
	look      look
	embedders []string
}

// look is how an organization wants its pages: settings' booking_page.
type look struct {
	PrimaryColor        string   `json:"primary_color"`
	WelcomeMessage      string   `json:"welcome_message"`
	CancellationPolicy  string   `json:"cancellation_policy"`
	TermsURL            string   `json:"terms_url"`
	PrivacyURL          string   `json:"privacy_url"`
	ShowPrices          *bool    `json:"show_prices"`
	EmbedAllowedOrigins []string `json:"embed_allowed_origins"`
}

// reply is what a step answers: a page, or where to go instead.
type reply struct {
	status   int
	template string
	title    string
	step     int // of the booking, from 1; 0: none
	summary  *summary
	body     any
	location string // of a redirection
	file     *file  // instead of a page
}

// file is something to keep.
type file struct {
	name, kind string
	bytes      []byte
}

// redirect sends a browser on, with GET.
func redirect(location string) reply { return reply{status: http.StatusSeeOther, location: location} }

// step is a page: what it shows and, where it can be posted to, what it does.
type step struct {
	get, post func(*visit) (reply, error)
	indexed   bool // search engines may keep it
	closed    bool // it stays when the organization takes no bookings
}

// steps are the pages of an organization by the rest of their path.
func steps() map[string]step {
	return map[string]step{
		"":             {get: (*visit).services, indexed: true},
		"professional": {get: (*visit).professionals},
		"day":          {get: (*visit).day},
		"time":         {get: (*visit).times},
		"details":      {get: (*visit).details, post: (*visit).book},
		"done":         {get: (*visit).done, closed: true},
		"calendar.ics": {get: (*visit).calendarFile, closed: true},
		"cancel":       {get: (*visit).cancelling, post: (*visit).cancel, closed: true},
		stepLeave:      {get: (*visit).leaving, post: (*visit).leave, closed: true},
		"move":         {get: (*visit).moving, post: (*visit).move, closed: true},
	}
}

// ServeHTTP implements [http.Handler].
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	slug, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path+"/", Root), "/")
	path = strings.Trim(path, "/")
	if slug == assetsPath {
		serveAsset(w, r, path)
		return
	}
	v := &visit{Pages: p, ctx: r.Context(), query: r.URL.Query(), slug: slug, step: path, now: p.host.Now()}
	v.lang, v.asked = chooseLanguage(v.query.Get("lang"), r.Header.Get("Accept-Language"), "")
	one, found := steps()[path]
	answer, err := v.answer(r, one, found)
	if err != nil {
		answer = v.problem(err, w.Header())
	}
	v.send(w, r, answer, one.indexed && err == nil)
}

// answer finds the organization and has the step answer.
func (v *visit) answer(r *http.Request, one step, found bool) (reply, error) {
	posted := r.Method == http.MethodPost
	allow := v.desk.AllowRead
	if posted {
		allow = v.desk.AllowWrite
	}
	if err := allow(v.ctx); err != nil {
		return reply{}, err
	}
	if err := v.find(r.Header.Get("Accept-Language")); err != nil {
		return reply{}, err
	}
	switch {
	case !found:
		return reply{}, hub.Errorf(hub.ErrNotFound, "not_found", "Page not found")
	case v.org.Slug != v.slug && v.step != stepLeave: // there programs post for people, which follow no redirection
		return v.moved(r, posted), nil
	case !posted && r.Method != http.MethodGet && r.Method != http.MethodHead, posted && one.post == nil:
		return reply{}, errMethod
	case !v.org.Settings.BookingEnabled && !one.closed:
		return v.closed(posted), nil
	case !posted:
		return one.get(v)
	}
	if err := v.own(r); err != nil {
		return reply{}, err
	}
	if err := r.ParseForm(); err != nil {
		return reply{}, hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read.").WithCause(err)
	}
	v.form = r.PostForm
	return one.post(v)
}

// find loads the organization and how it looks.
func (v *visit) find(acceptLanguage string) error {
	search := v.desk.Organization
	if v.step == stepLeave {
		search = v.desk.UnsubscribeOrganization
	}
	org, err := search(v.ctx, v.slug)
	if err != nil {
		return err
	}
	v.org, v.known = org, true
	if err := json.Unmarshal(org.Settings.BookingPage, &v.look); err != nil {
		return err
	}
	for _, origin := range v.look.EmbedAllowedOrigins {
		if !strings.ContainsAny(origin, ";,'\"*") { // which would say more than an origin in a policy
			v.embedders = append(v.embedders, origin)
		}
	}
	v.lang, v.asked = chooseLanguage(v.query.Get("lang"), acceptLanguage, org.Locale)
	return nil
}

// moved leads from a slug that the organization had to its present one. Not for ever:
// somebody else may get the old one.
func (v *visit) moved(r *http.Request, posted bool) reply {
	there := url.URL{Path: strings.TrimSuffix(Root+v.org.Slug+"/"+v.step, "/"), RawQuery: r.URL.RawQuery}
	if posted {
		return reply{status: http.StatusTemporaryRedirect, location: there.String()}
	}
	return reply{status: http.StatusFound, location: there.String()}
}

// own refuses what was posted from another site's page. There is no session that such
// a page could abuse, but it could book in a visitor's name without them seeing it.
func (v *visit) own(r *http.Request) error {
	foreign := hub.Errorf(hub.ErrForbidden, codeForeign, "This form belongs on the booking page.")
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
	default:
		return foreign
	}
	// Browsers before 2023. Where pages send no referrer, the origin may be null.
	origin := r.Header.Get("Origin")
	if origin == "" || origin == "null" {
		return nil
	}
	sender, err := url.Parse(origin)
	if err != nil || sender.Host != r.Host && !strings.EqualFold(origin, originOf(v.host.URLs.Public)) {
		return foreign
	}
	return nil
}

// originOf is the origin of an address; "" where it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// link is the address of a step, with parameters in pairs; those that are "" are left
// out. The language that was asked for stays.
func (v *visit) link(step string, pairs ...string) string {
	path := Root + v.org.Slug
	if step != "" {
		path += "/" + step
	}
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if v.asked && query.Get("lang") == "" {
		query.Set("lang", v.lang.tag)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// t are the texts in the visit's language.
func (v *visit) t() *words { return &v.lang.words }

func (v *visit) price(c booking.Cents) string {
	if c == 0 {
		return v.t().Free
	}
	return v.lang.money(c, v.org.Currency)
}

func (v *visit) showsPrices() bool { return v.look.ShowPrices == nil || *v.look.ShowPrices }

func (v *visit) twelve() bool { return v.org.Settings.TimeFormat == "12h" }

func (v *visit) clock(t time.Time) string { return v.lang.clock(t.In(v.org.Zone), v.twelve()) }

// moment writes a day with its time.
func (v *visit) moment(t time.Time) string {
	return v.lang.day(booking.DateOf(t, v.org.Zone)) + ", " + v.clock(t)
}

// stamp is an instant for programs.
func (v *visit) stamp(t time.Time) string { return t.In(v.org.Zone).Format(time.RFC3339) }

// gone is the answer where a link names what cannot be booked, or what is no link of ours.
func gone() error { return hub.Errorf(hub.ErrNotFound, codeGone, "This is not offered.") }

// id reads an id of the address; one that cannot be read names nothing.
func id(s string) (uuid.UUID, error) {
	found, err := uuid.Parse(s)
	if err != nil {
		return found, gone()
	}
	return found, nil
}
