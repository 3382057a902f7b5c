package pages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"integrationhub/hub"
)

// Codes of errors that only pages have.
const (
	codeNotOffered  = "not_offered"
	codeForeignForm = "foreign_form"
)

var errMethod = hub.Errorf(hub.ErrForbidden, "method_not_allowed", "This page cannot be asked for in this way.")

// noticeView is the template data of a page with a message only.
type noticeView struct {
	Icon, Title, Text string
	Link, LinkText    string // what to do; "" = nothing
}

// errorPage returns the page for an error.
func (p *pageRequest) errorPage(err error, header http.Header) reply {
	text := p.messages()
	var apiErr *hub.Error
	if !errors.As(err, &apiErr) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) { // its time is over, or the hub stops
		apiErr = hub.Errorf(hub.ErrUnavailable, "unavailable", "The page could not be made in time.").WithCause(err)
		err = apiErr
	}
	code := ""
	if apiErr != nil {
		code = apiErr.Code
	}
	page := func(status int, icon, title, detail string) reply {
		view := noticeView{Icon: icon, Title: title, Text: detail}
		if p.hasOrg && status < 429 {
			view.Link, view.LinkText = p.linkTo(""), text.StartAgain
		}
		return reply{status: status, template: "notice", title: title, body: view}
	}
	switch {
	case errors.Is(err, errMethod):
		header.Set("Allow", "GET, HEAD, POST")
		return page(http.StatusMethodNotAllowed, "search", text.UnknownTitle, text.GoneHint)
	case errors.Is(err, hub.ErrNotFound) && code == "invalid_token":
		return page(http.StatusNotFound, "link", text.BadLinkTitle, text.BadLinkHint)
	case errors.Is(err, hub.ErrNotFound) && !p.hasOrg:
		return page(http.StatusNotFound, "search", text.UnknownTitle, text.UnknownHint)
	case errors.Is(err, hub.ErrNotFound), code == "service_not_offered":
		return page(http.StatusNotFound, "search", text.GoneTitle, text.GoneHint)
	case code == codeForeignForm:
		return page(http.StatusForbidden, "shield", text.ForeignTitle, text.ForeignHint)
	case errors.Is(err, hub.ErrMalformed), errors.Is(err, hub.ErrInvalid):
		return page(http.StatusBadRequest, "search", text.GoneTitle, text.GoneHint)
	case errors.Is(err, hub.ErrRateLimited):
		seconds := retryAfter(apiErr, header)
		return page(http.StatusTooManyRequests, "clock", text.LimitedTitle, fmt.Sprintf(text.LimitedHint, seconds))
	case errors.Is(err, hub.ErrUnavailable), errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout):
		retryAfter(apiErr, header)
		p.host.Log.WarnContext(p.ctx, "showing a booking page failed temporarily", "step", p.step, "error", err)
		return page(http.StatusServiceUnavailable, "clock", text.UnavailableTitle, text.UnavailableHint)
	}
	p.host.Log.ErrorContext(p.ctx, "a booking page failed", "step", p.step, "error", err)
	return page(http.StatusInternalServerError, "alert", text.BrokenTitle, text.BrokenHint)
}

// retryAfter sets the Retry-After header and returns its seconds.
func retryAfter(apiErr *hub.Error, header http.Header) int {
	seconds := max(int(math.Ceil(apiErr.RetryAfter.Seconds())), 1)
	header.Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}

// closedPage is the page of an organization that takes no bookings online.
func (p *pageRequest) closedPage(posted bool) reply {
	view := noticeView{Icon: "moon", Title: p.messages().ClosedTitle, Text: p.messages().ClosedHint}
	if message := p.org.Settings.BookingDisabledMessage; message != nil && *message != "" {
		view.Text = *message
	}
	status := http.StatusOK
	if posted {
		status = http.StatusForbidden
	}
	return reply{status: status, template: "notice", title: view.Title, body: view}
}
