package pages

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"integrationhub/hub"
)

// Codes of errors that only pages have.
const (
	codeGone    = "gone"
	codeForeign = "foreign_form"
)

var errMethod = hub.Errorf(hub.ErrForbidden, "method_not_allowed", "This page cannot be asked for in this way.")

// notice is a page that only tells something.
type notice struct {
	Icon, Title, Text string
	Link, LinkText    string // what to do; "" = nothing
}

// problem is the page for an error.
func (v *visit) problem(err error, header http.Header) reply {
	t := v.t()
	var told *hub.Error
	errors.As(err, &told)
	code := ""
	if told != nil {
		code = told.Code
	}
	page := func(status int, icon, title, text string) reply {
		n := notice{Icon: icon, Title: title, Text: text}
		if v.known && status < 429 {
			n.Link, n.LinkText = v.link(""), t.StartAgain
		}
		return reply{status: status, template: "notice", title: title, body: n}
	}
	switch {
	case errors.Is(err, errMethod):
		header.Set("Allow", "GET, HEAD, POST")
		return page(http.StatusMethodNotAllowed, "search", t.UnknownTitle, t.GoneHint)
	case errors.Is(err, hub.ErrNotFound) && code == "invalid_token":
		return page(http.StatusNotFound, "link", t.BadLinkTitle, t.BadLinkHint)
	case errors.Is(err, hub.ErrNotFound) && !v.known:
		return page(http.StatusNotFound, "search", t.UnknownTitle, t.UnknownHint)
	case errors.Is(err, hub.ErrNotFound), code == "service_not_offered":
		return page(http.StatusNotFound, "search", t.GoneTitle, t.GoneHint)
	case code == codeForeign:
		return page(http.StatusForbidden, "shield", t.ForeignTitle, t.ForeignHint)
	case errors.Is(err, hub.ErrMalformed), errors.Is(err, hub.ErrInvalid):
		return page(http.StatusBadRequest, "search", t.GoneTitle, t.GoneHint)
	case errors.Is(err, hub.ErrRateLimited):
		seconds := retryAfter(told, header)
		return page(http.StatusTooManyRequests, "clock", t.LimitedTitle, fmt.Sprintf(t.LimitedHint, seconds))
	case errors.Is(err, hub.ErrUnavailable), errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout):
		retryAfter(told, header)
		v.host.Log.WarnContext(v.ctx, "a booking page could not be shown", "step", v.step, "error", err)
		return page(http.StatusServiceUnavailable, "clock", t.UnavailableTitle, t.UnavailableHint)
	}
	v.host.Log.ErrorContext(v.ctx, "a booking page failed", "step", v.step, "error", err)
	return page(http.StatusInternalServerError, "alert", t.BrokenTitle, t.BrokenHint)
}

// retryAfter says when to come back, in seconds.
func retryAfter(e *hub.Error, header http.Header) int {
	seconds := max(int(math.Ceil(e.RetryAfter.Seconds())), 1)
	header.Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}

// closed is the page of an organization that takes no bookings online.
func (v *visit) closed(posted bool) reply {
	n := notice{Icon: "moon", Title: v.t().ClosedTitle, Text: v.t().ClosedHint}
	if message := v.org.Settings.BookingDisabledMessage; message != nil && *message != "" {
		n.Text = *message
	}
	status := http.StatusOK
	if posted {
		status = http.StatusForbidden
	}
	return reply{status: status, template: "notice", title: n.Title, body: n}
}
