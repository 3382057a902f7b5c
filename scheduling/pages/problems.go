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
	codeNotOffered  = "gone"
	codeForeignForm = "foreign_form"
)

var errMethod = hub.Errorf(hub.ErrForbidden, "method_not_allowed", "This page cannot be asked for in this way.")

// noticeView is a page that only tells something.
type noticeView struct {
	Icon, Title, Text string
	Link, LinkText    string // what to do; "" = nothing
}

// errorPage is the page for an error.
func (v *visit) errorPage(err error, header http.Header) reply {
	t := v.texts()
	var told *hub.Error
	errors.As(err, &told)
	code := ""
	if told != nil {
		code = told.Code
	}
	page := func(status int, icon, title, text string) reply {
		n := noticeView{Icon: icon, Title: title, Text: text}
		if v.hasOrg && status < 429 {
			n.Link, n.LinkText = v.linkTo(""), t.StartAgain
		}
		return reply{status: status, template: "notice", title: title, body: n}
	}
	switch {
	case errors.Is(err, errMethod):
		header.Set("Allow", "GET, HEAD, POST")
		return page(http.StatusMethodNotAllowed, "search", t.UnknownTitle, t.GoneHint)
	case errors.Is(err, hub.ErrNotFound) && code == "invalid_token":
		return page(http.StatusNotFound, "link", t.BadLinkTitle, t.BadLinkHint)
	case errors.Is(err, hub.ErrNotFound) && !v.hasOrg:
		return page(http.StatusNotFound, "search", t.UnknownTitle, t.UnknownHint)
	case errors.Is(err, hub.ErrNotFound), code == "service_not_offered":
		return page(http.StatusNotFound, "search", t.GoneTitle, t.GoneHint)
	case code == codeForeignForm:
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

// closedPage is the page of an organization that takes no bookings online.
func (v *visit) closedPage(posted bool) reply {
	n := noticeView{Icon: "moon", Title: v.texts().ClosedTitle, Text: v.texts().ClosedHint}
	if message := v.org.Settings.BookingDisabledMessage; message != nil && *message != "" {
		n.Text = *message
	}
	status := http.StatusOK
	if posted {
		status = http.StatusForbidden
	}
	return reply{status: status, template: "notice", title: n.Title, body: n}
}
