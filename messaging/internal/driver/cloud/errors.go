package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"integrationhub/messaging/internal/driver"
)

// APIError is an error that the API answered with.
type APIError struct {
	Status  int
	Code    int
	Message string
}

// Error implements error.
func (e *APIError) Error() string {
	return fmt.Sprintf("the Cloud API responded with %d and error %d: %s", e.Status, e.Code, e.Message)
}

// text returns the error for people.
func (e *APIError) text() string {
	return cmp.Or(e.Message, fmt.Sprintf("The Cloud API responded with %d.", e.Status))
}

// isAccountError reports whether an error of the API is about the account: no message is
// accepted until people act.
func isAccountError(code int) bool {
	switch code {
	case 190, // the access token has expired
		10, 131005, // a permission was not granted, or taken back
		368, 131031, // the account is blocked, or locked
		131042, // nothing can be charged
		133010: // the number is not registered at the API
		return true
	}
	return code >= 200 && code <= 299 // permissions
}

// refusals are the codes of messages by the API's errors.
var refusals = map[int]string{
	131047: "window_closed",
	132000: "template_parameter_count",
	132001: "template_not_found",
	132005: "template_too_long",
	132007: "template_policy",
	132012: "template_parameter_format",
	132015: "template_paused",
	132016: "template_disabled",
	132018: "template_parameter_format",
}

// codeOf returns the code of a message that failed with an error of the API.
func codeOf(apiError int) string {
	if code, ok := refusals[apiError]; ok {
		return code
	}
	return strconv.Itoa(apiError)
}

// mapError returns the driver's error for one of the API. Any other error is temporary.
func mapError(err error) error {
	var apiErr *APIError
	var lost *lostResponseError
	if errors.As(err, &lost) {
		return fmt.Errorf("%w: %w", driver.ErrUnclear, err)
	}
	if !errors.As(err, &apiErr) {
		return err
	}
	switch apiErr.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: %w", driver.ErrUnreachable, err)
	}
	switch {
	case isAccountError(apiErr.Code), apiErr.Code == 0 && apiErr.Status == http.StatusUnauthorized:
		return &driver.AccountError{Reason: apiErr.text(), Err: err}
	case apiErr.Code == 131026: // the recipient cannot be reached
		return fmt.Errorf("%w: %w", driver.ErrNotRegistered, err)
	}
	switch apiErr.Code {
	case 4, 80007, 130429, 131048, 131056: // too many requests
		return err
	}
	if code, ok := refusals[apiErr.Code]; ok {
		return &driver.RefusedError{Code: code, Err: err}
	}
	if apiErr.Status >= http.StatusBadRequest && apiErr.Status < http.StatusInternalServerError && apiErr.Status != http.StatusTooManyRequests {
		return fmt.Errorf("%w: %w", driver.ErrRefused, err)
	}
	return err
}

// lostResponseError is a request that the API may have got, without its response.
type lostResponseError struct{ cause error }

// Error implements error.
func (e *lostResponseError) Error() string { return e.cause.Error() }

// Unwrap returns what happened to the response.
func (e *lostResponseError) Unwrap() error { return e.cause }

// unreachable returns the error of a call that the network did not answer, unless the caller
// gave it up.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrUnreachable, err)
}
