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

// noticeView is the template data of a page with a message only.
type noticeView struct {
	Icon, Title, Text string
	Link, LinkText    string // what to do; "" = nothing
}

// errorPage returns the page for an error.
func (v *visit) errorPage(err error, header http.Header) reply {
	texts := v.texts()
	var apiErr *hub.Error
	errors.As(err, &apiErr)
	code := ""
	if apiErr != nil {
		code = apiErr.Code
	}
	page := func(status int, icon, title, text string) reply {
		view := noticeView{Icon: icon, Title: title, Text: text}
		if v.hasOrg && status < 429 {
			view.Link, view.LinkText = v.linkTo(""), texts.StartAgain
		}
		return reply{status: status, template: "notice", title: title, body: view}
	}
	switch {
	case errors.Is(err, errMethod):
		header.Set("Allow", "GET, HEAD, POST")
		return page(http.StatusMethodNotAllowed, "search", texts.UnknownTitle, texts.GoneHint)
	case errors.Is(err, hub.ErrNotFound) && code == "invalid_token":
		return page(http.StatusNotFound, "link", texts.BadLinkTitle, texts.BadLinkHint)
	case errors.Is(err, hub.ErrNotFound) && !v.hasOrg:
		return page(http.StatusNotFound, "search", texts.UnknownTitle, texts.UnknownHint)
	case errors.Is(err, hub.ErrNotFound), code == "service_not_offered":
		return page(http.StatusNotFound, "search", texts.GoneTitle, texts.GoneHint)
	case code == codeForeignForm:
		return page(http.StatusForbidden, "shield", texts.ForeignTitle, texts.ForeignHint)
	case errors.Is(err, hub.ErrMalformed), errors.Is(err, hub.ErrInvalid):
		return page(http.StatusBadRequest, "search", texts.GoneTitle, texts.GoneHint)
	case errors.Is(err, hub.ErrRateLimited):
		seconds := retryAfter(apiErr, header)
		return page(http.StatusTooManyRequests, "clock", texts.LimitedTitle, fmt.Sprintf(texts.LimitedHint, seconds))
	case errors.Is(err, hub.ErrUnavailable), errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout):
		retryAfter(apiErr, header)
		v.host.Log.WarnContext(v.ctx, "a booking page could not be shown", "step", v.step, "error", err)
		return page(http.StatusServiceUnavailable, "clock", texts.UnavailableTitle, texts.UnavailableHint)
	}
	v.host.Log.ErrorContext(v.ctx, "a booking page failed", "step", v.step, "error", err)
	return page(http.StatusInternalServerError, "alert", texts.BrokenTitle, texts.BrokenHint)
}

// retryAfter sets the Retry-After header and returns its seconds.
func retryAfter(apiErr *hub.Error, header http.Header) int {
	seconds := max(int(math.Ceil(apiErr.RetryAfter.Seconds())), 1)
	header.Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}

// closedPage is the page of an organization that takes no bookings online.
func (v *visit) closedPage(posted bool) reply {
	view := noticeView{Icon: "moon", Title: v.texts().ClosedTitle, Text: v.texts().ClosedHint}
	if message := v.org.Settings.BookingDisabledMessage; message != nil && *message != "" {
		view.Text = *message
	}
	status := http.StatusOK
	if posted {
		status = http.StatusForbidden
	}
	return reply{status: status, template: "notice", title: view.Title, body: view}
}
