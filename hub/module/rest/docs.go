package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Docs is what an OpenAPI document says of an interface beside its table of routes.
type Docs struct {
	Tags       []Tag                   // in the order of the reference
	Operations map[string]OperationDoc // by operation id
}

// Tag describes the operations of one resource: the part of their ids before the dot.
type Tag struct{ Name, Description string }

// OperationDoc describes an operation beyond its summary.
type OperationDoc struct {
	// Text says in sentences what the operation does.
	Text string
	// Errors lists the operation's own error codes by status: "404 not_found",
	// "409 slot_unavailable, appointment_over". Codes that the operation shares with all
	// others of its kind, such as 401 invalid_token, are left out. A status 409 that is not
	// listed is not documented: the operation conflicts with nothing.
	Errors []string
}

// ErrorCodesExtension is the member of a documented operation with its error codes: an
// object of lists by status.
const ErrorCodesExtension = "x-error-codes"

// Describe documents an operation that is not registered yet. It adds the statuses of Errors
// to those of the operation. It removes 409 where they have none, and 403 where all may
// call the operation and they have none.
func (d OperationDoc) Describe(op *huma.Operation) {
	codes := make(map[string][]string, len(d.Errors))
	for _, line := range d.Errors {
		status, list, _ := strings.Cut(line, " ")
		codes[status] = append(codes[status], strings.Split(list, ", ")...)
		if number, err := strconv.Atoi(status); err == nil && !slices.Contains(op.Errors, number) {
			op.Errors = append(op.Errors, number)
		}
	}
	if codes["409"] == nil {
		op.Errors = slices.DeleteFunc(op.Errors, func(status int) bool { return status == http.StatusConflict })
	}
	needsLogin := slices.ContainsFunc(op.Security, func(alternative map[string][]string) bool { return len(alternative) > 0 })
	if codes["403"] == nil && !needsLogin {
		op.Errors = slices.DeleteFunc(op.Errors, func(status int) bool { return status == http.StatusForbidden })
	}
	op.Description = d.Text
	op.Extensions = map[string]any{ErrorCodesExtension: codes}
}

// describeTags adds the tags of rows to a document.
func (d Docs) describeTags(document *huma.OpenAPI, rows []Route) {
	for _, tag := range d.Tags {
		isUsed := slices.ContainsFunc(rows, func(row Route) bool { return row.Tag() == tag.Name })
		isKnown := slices.ContainsFunc(document.Tags, func(known *huma.Tag) bool { return known.Name == tag.Name })
		if isUsed && !isKnown {
			document.Tags = append(document.Tags, &huma.Tag{Name: tag.Name, Description: tag.Description})
		}
	}
}
