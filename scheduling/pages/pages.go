// Package pages serves the public booking pages at /book/<slug>, with one address for
// each step, and the pages on which clients cancel or move a booking. The rules are in
// package publicbooking. The pages are in three languages and work without JavaScript.
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

// Root is the path prefix of the pages.
const Root = "/book/"

// Pages serves the booking pages. It is safe for concurrent use.
type Pages struct {
	host          module.Host
	publicBooking *publicbooking.PublicBooking
}

// New returns the pages of an opened product.
func New(host module.Host, desk *publicbooking.PublicBooking) *Pages { return &Pages{host, desk} }

// visit is a request for a page.
type visit struct {
	*Pages
	ctx   context.Context
	query url.Values // of the address
	form  url.Values // what was posted
	slug  string
	step  string
	now   time.Time

	lang         *language
	langInURL    bool // the address says which language
	org          store.Org
	hasOrg       bool // there is an organization
	appearance   appearance
	embedOrigins []string
}

// appearance is the booking_page member of an organization's settings.
type appearance struct {
	PrimaryColor        string   `json:"primary_color"`
	WelcomeMessage      string   `json:"welcome_message"`
	CancellationPolicy  string   `json:"cancellation_policy"`
	TermsURL            string   `json:"terms_url"`
	PrivacyURL          string   `json:"privacy_url"`
	ShowPrices          *bool    `json:"show_prices"`
	EmbedAllowedOrigins []string `json:"embed_allowed_origins"`
}

// reply is the result of a step: a page, a file or a redirect.
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

// file is a download.
type file struct {
	name, kind string
	bytes      []byte
}

// redirect sends the browser to location with GET.
func redirect(location string) reply { return reply{status: http.StatusSeeOther, location: location} }

// pageStep is a page with its GET and POST handlers.
type pageStep struct {
	get, post           func(*visit) (reply, error)
	indexed             bool // search engines may keep it
	availableWhenClosed bool // it stays when the organization takes no bookings
}

// stepsByPath returns the pages of an organization by the rest of their path.
func stepsByPath() map[string]pageStep {
	return map[string]pageStep{
		"":              {get: (*visit).showServices, indexed: true},
		"professional":  {get: (*visit).showProfessionals},
		"day":           {get: (*visit).showMonth},
		"time":          {get: (*visit).showDay},
		"details":       {get: (*visit).showDetails, post: (*visit).book},
		"done":          {get: (*visit).showBooking, availableWhenClosed: true},
		"calendar.ics":  {get: (*visit).downloadCalendar, availableWhenClosed: true},
		"cancel":        {get: (*visit).showCancel, post: (*visit).cancel, availableWhenClosed: true},
		stepUnsubscribe: {get: (*visit).showUnsubscribe, post: (*visit).unsubscribe, availableWhenClosed: true},
		"move":          {get: (*visit).showMove, post: (*visit).reschedule, availableWhenClosed: true},
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
	v.lang, v.langInURL = chooseLanguage(v.query.Get("lang"), r.Header.Get("Accept-Language"), "")
	step, found := stepsByPath()[path]
	response, err := v.dispatch(r, step, found)
	if err != nil {
		response = v.errorPage(err, w.Header())
	}
	v.writeReply(w, r, response, step.indexed && err == nil)
}

// dispatch loads the organization, checks the request and calls the step.
func (v *visit) dispatch(r *http.Request, step pageStep, found bool) (reply, error) {
	posted := r.Method == http.MethodPost
	allow := v.publicBooking.AllowRead
	if posted {
		allow = v.publicBooking.AllowWrite
	}
	if err := allow(v.ctx); err != nil {
		return reply{}, err
	}
	if err := v.loadOrganization(r.Header.Get("Accept-Language")); err != nil {
		return reply{}, err
	}
	switch {
	case !found:
		return reply{}, hub.Errorf(hub.ErrNotFound, "not_found", "Page not found")
	case v.org.Slug != v.slug && v.step != stepUnsubscribe: // there programs post for people, which follow no redirection
		return v.redirectToSlug(r, posted), nil
	case !posted && r.Method != http.MethodGet && r.Method != http.MethodHead, posted && step.post == nil:
		return reply{}, errMethod
	case !v.org.Settings.BookingEnabled && !step.availableWhenClosed:
		return v.closedPage(posted), nil
	case !posted:
		return step.get(v)
	}
	if err := v.checkOrigin(r); err != nil {
		return reply{}, err
	}
	if err := r.ParseForm(); err != nil {
		return reply{}, hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read.").WithCause(err)
	}
	v.form = r.PostForm
	return step.post(v)
}

// loadOrganization loads the organization of the slug and its appearance.
func (v *visit) loadOrganization(acceptLanguage string) error {
	search := v.publicBooking.Organization
	if v.step == stepUnsubscribe {
		search = v.publicBooking.UnsubscribeOrganization
	}
	org, err := search(v.ctx, v.slug)
	if err != nil {
		return err
	}
	v.org, v.hasOrg = org, true
	if err := json.Unmarshal(org.Settings.BookingPage, &v.appearance); err != nil {
		return err
	}
	for _, origin := range v.appearance.EmbedAllowedOrigins {
		if !strings.ContainsAny(origin, ";,'\"*") { // which would say more than an origin in a policy
			v.embedOrigins = append(v.embedOrigins, origin)
		}
	}
	v.lang, v.langInURL = chooseLanguage(v.query.Get("lang"), acceptLanguage, org.Locale)
	return nil
}

// redirectToSlug redirects from a former slug to the present slug. The redirect is
// temporary: another organization may get the old slug.
func (v *visit) redirectToSlug(r *http.Request, posted bool) reply {
	target := url.URL{Path: strings.TrimSuffix(Root+v.org.Slug+"/"+v.step, "/"), RawQuery: r.URL.RawQuery}
	if posted {
		return reply{status: http.StatusTemporaryRedirect, location: target.String()}
	}
	return reply{status: http.StatusFound, location: target.String()}
}

// checkOrigin refuses forms posted from another site. There is no session to abuse, but
// such a page could book in a visitor's name.
func (v *visit) checkOrigin(r *http.Request) error {
	foreignErr := hub.Errorf(hub.ErrForbidden, codeForeignForm, "This form belongs on the booking page.")
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
	default:
		return foreignErr
	}
	// Browsers before 2023. Where pages send no referrer, the origin may be null.
	origin := r.Header.Get("Origin")
	if origin == "" || origin == "null" {
		return nil
	}
	sender, err := url.Parse(origin)
	if err != nil || sender.Host != r.Host && !strings.EqualFold(origin, parseOrigin(v.host.URLs.Public)) {
		return foreignErr
	}
	return nil
}

// parseOrigin returns the origin of an address, or "" if it has none.
func parseOrigin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// linkTo returns the address of a step with query parameters in pairs. It omits empty
// values and keeps the chosen language.
func (v *visit) linkTo(step string, pairs ...string) string {
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
	if v.langInURL && query.Get("lang") == "" {
		query.Set("lang", v.lang.tag)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// texts returns the texts in the visit's language.
func (v *visit) texts() *words { return &v.lang.words }

func (v *visit) formatPrice(amount booking.Cents) string {
	if amount == 0 {
		return v.texts().Free
	}
	return v.lang.formatMoney(amount, v.org.Currency)
}

func (v *visit) showsPrices() bool { return v.appearance.ShowPrices == nil || *v.appearance.ShowPrices }

func (v *visit) isTwelveHour() bool { return v.org.Settings.TimeFormat == "12h" }

func (v *visit) formatClock(moment time.Time) string {
	return v.lang.formatClock(moment.In(v.org.Zone), v.isTwelveHour())
}

// formatDateTime formats a day with its time.
func (v *visit) formatDateTime(moment time.Time) string {
	return v.lang.formatDay(booking.DateOf(moment, v.org.Zone)) + ", " + v.formatClock(moment)
}

// formatInstant formats an instant for programs (RFC 3339).
func (v *visit) formatInstant(moment time.Time) string {
	return moment.In(v.org.Zone).Format(time.RFC3339)
}

// notOfferedError is the error for links that name nothing bookable.
func notOfferedError() error {
	return hub.Errorf(hub.ErrNotFound, codeNotOffered, "This is not offered.")
}

// parseID parses an ID of the address. An invalid ID is not offered.
func parseID(value string) (uuid.UUID, error) {
	parsed, err := uuid.Parse(value)
	if err != nil {
		return parsed, notOfferedError()
	}
	return parsed, nil
}
