// Package pages serves the public booking pages at /book/<slug>, with one address for
// each step, and the pages on which clients cancel or reschedule a booking. The rules are
// in package publicbooking. The pages are in three languages. They work without
// JavaScript unless the organization requires a proof of work.
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
	publicBooking *publicbooking.Service
}

// New returns the pages of an opened product.
func New(host module.Host, publicBooking *publicbooking.Service) *Pages {
	return &Pages{host, publicBooking}
}

// pageRequest is a request for a page.
type pageRequest struct {
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
	status       int
	template     string
	title        string
	step         int // of the booking, from 1; 0: none
	summary      *summary
	body         any
	showsContact bool   // the body has the organization's address and phone
	location     string // of a redirection
	file         *file  // instead of a page
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
	get, post           func(*pageRequest) (reply, error)
	indexed             bool // search engines may keep it
	availableWhenClosed bool // it stays when the organization takes no bookings
	postCallsOut        bool // its POST waits for the payment provider
}

// stepsByPath returns the pages of an organization by the rest of their path.
func stepsByPath() map[string]pageStep {
	return map[string]pageStep{
		"":              {get: (*pageRequest).showServices, indexed: true},
		"professional":  {get: (*pageRequest).showProfessionals},
		"day":           {get: (*pageRequest).showMonth},
		"time":          {get: (*pageRequest).showDay},
		"details":       {get: (*pageRequest).showDetails, post: (*pageRequest).book, postCallsOut: true},
		"done":          {get: (*pageRequest).showBooking, availableWhenClosed: true},
		"calendar.ics":  {get: (*pageRequest).downloadCalendar, availableWhenClosed: true},
		"pay":           {post: (*pageRequest).payDeposit, availableWhenClosed: true, postCallsOut: true},
		"cancel":        {get: (*pageRequest).showCancel, post: (*pageRequest).cancel, availableWhenClosed: true},
		stepUnsubscribe: {get: (*pageRequest).showUnsubscribe, post: (*pageRequest).unsubscribe, availableWhenClosed: true},
		"move":          {get: (*pageRequest).showReschedule, post: (*pageRequest).reschedule, availableWhenClosed: true},
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
	request := &pageRequest{Pages: p, ctx: r.Context(), query: r.URL.Query(), slug: slug, step: path, now: p.host.Now()}
	request.lang, request.langInURL = chooseLanguage(request.query.Get("lang"), r.Header.Get("Accept-Language"), "")
	step, found := stepsByPath()[path]
	response, err := request.dispatch(r, step, found)
	if err != nil {
		response = request.errorPage(err, w.Header())
	}
	request.writeReply(w, r, response, step.indexed && err == nil)
}

// dispatch loads the organization, checks the request and calls the step.
func (p *pageRequest) dispatch(r *http.Request, step pageStep, found bool) (reply, error) {
	posted := r.Method == http.MethodPost
	allow := p.publicBooking.AllowRead
	if posted {
		allow = p.publicBooking.AllowWrite
	}
	if err := allow(p.ctx); err != nil {
		return reply{}, err
	}
	leave, err := module.EnterPage(p.ctx, p.slug, posted && step.postCallsOut)
	if err != nil {
		return reply{}, err
	}
	defer leave()
	if err := p.loadOrganization(r.Header.Get("Accept-Language")); err != nil {
		return reply{}, err
	}
	switch {
	case !found:
		return reply{}, hub.Errorf(hub.ErrNotFound, "not_found", "Page not found")
	case p.org.Slug != p.slug && p.step != stepUnsubscribe: // there programs post for people, which follow no redirection
		return p.redirectToSlug(r, posted), nil
	case !posted && r.Method != http.MethodGet && r.Method != http.MethodHead, posted && step.post == nil, !posted && step.get == nil:
		return reply{}, errMethod
	case !p.org.Settings.BookingEnabled && !step.availableWhenClosed:
		return p.closedPage(posted), nil
	case !posted:
		return step.get(p)
	}
	if err := p.checkOrigin(r); err != nil {
		return reply{}, err
	}
	if err := r.ParseForm(); err != nil {
		return reply{}, hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read.").WithCause(err)
	}
	p.form = r.PostForm
	return step.post(p)
}

// loadOrganization loads the organization of the slug and its appearance.
func (p *pageRequest) loadOrganization(acceptLanguage string) error {
	search := p.publicBooking.Organization
	if p.step == stepUnsubscribe {
		search = p.publicBooking.UnsubscribeOrganization
	}
	org, err := search(p.ctx, p.slug)
	if err != nil {
		return err
	}
	p.org, p.hasOrg = org, true
	if err := json.Unmarshal(org.Settings.BookingPage, &p.appearance); err != nil {
		return err
	}
	for _, origin := range p.appearance.EmbedAllowedOrigins {
		if !strings.ContainsAny(origin, ";,'\"*") { // which would say more than an origin in a policy
			p.embedOrigins = append(p.embedOrigins, origin)
		}
	}
	p.lang, p.langInURL = chooseLanguage(p.query.Get("lang"), acceptLanguage, org.Locale)
	return nil
}

// redirectToSlug redirects from a former slug to the present slug. The redirect is
// temporary: another organization may get the old slug.
func (p *pageRequest) redirectToSlug(r *http.Request, posted bool) reply {
	target := url.URL{Path: strings.TrimSuffix(Root+p.org.Slug+"/"+p.step, "/"), RawQuery: r.URL.RawQuery}
	if posted {
		return reply{status: http.StatusTemporaryRedirect, location: target.String()}
	}
	return reply{status: http.StatusFound, location: target.String()}
}

// checkOrigin refuses forms posted from another site. There is no session to abuse, but
// such a page could book in a visitor's name.
func (p *pageRequest) checkOrigin(r *http.Request) error {
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
	if err != nil || sender.Host != r.Host && !strings.EqualFold(origin, parseOrigin(p.host.URLs.Public)) {
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
func (p *pageRequest) linkTo(step string, pairs ...string) string {
	path := Root + p.org.Slug
	if step != "" {
		path += "/" + step
	}
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if p.langInURL && query.Get("lang") == "" {
		query.Set("lang", p.lang.tag)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// messages returns the texts in the visit's language.
func (p *pageRequest) messages() *messages { return &p.lang.messages }

func (p *pageRequest) formatPrice(amount booking.Cents) string {
	if amount == 0 {
		return p.messages().Free
	}
	return p.lang.formatMoney(amount, p.org.Currency)
}

func (p *pageRequest) showsPrices() bool {
	return p.appearance.ShowPrices == nil || *p.appearance.ShowPrices
}

func (p *pageRequest) isTwelveHour() bool { return p.org.Settings.TimeFormat == "12h" }

func (p *pageRequest) formatClock(moment time.Time) string {
	return p.lang.formatClock(moment.In(p.org.Zone), p.isTwelveHour())
}

// formatDateTime formats a day with its time.
func (p *pageRequest) formatDateTime(moment time.Time) string {
	return p.lang.formatDay(booking.DateOf(moment, p.org.Zone)) + ", " + p.formatClock(moment)
}

// zoneOf returns the name of the organization's zone at a time.
func (p *pageRequest) zoneOf(moment time.Time) string { return zoneName(moment.In(p.org.Zone)) }

// newSlotOption returns a slot with its day, to choose from alternatives.
func (p *pageRequest) newSlotOption(start time.Time, link string) slotOption {
	return slotOption{Time: capitalize(p.formatDateTime(start)), At: p.formatInstant(start), Zone: p.zoneOf(start), Link: link}
}

// formatInstant formats an instant for programs (RFC 3339).
func (p *pageRequest) formatInstant(moment time.Time) string {
	return moment.In(p.org.Zone).Format(time.RFC3339)
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
