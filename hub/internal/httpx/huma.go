package httpx

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// huma's defaults for an operation that sets neither.
const (
	humaBodyBytes   = 1 << 20
	humaReadTimeout = 5 * time.Second
)

// InstallHuma turns every error of an API built from cfg into a [Problem]: those of
// huma's validation, huma.Error4xx, and the errors of handlers, such as *[hub.Error].
// Server errors are logged with their cause. The body limit and the read deadline are
// left to fiber, which has read the body before huma sees it: huma's limit would refuse
// a body of exactly [MaxBody], and its deadline would stay on the connection.
func InstallHuma(cfg *huma.Config, log *slog.Logger) {
	SetHumaVariables()
	cfg.Transformers = append(cfg.Transformers, func(ctx huma.Context, _ string, v any) (any, error) {
		if p, ok := v.(*Problem); ok {
			return finishProblem(ctx, log, p), nil
		}
		return v, nil
	})
	cfg.OnAddOperation = append(cfg.OnAddOperation, func(_ *huma.OpenAPI, op *huma.Operation) {
		if op.MaxBodyBytes == humaBodyBytes {
			op.MaxBodyBytes = -1
		}
		if op.BodyReadTimeout == humaReadTimeout {
			op.BodyReadTimeout = -1
		}
	})
}

// SetHumaVariables sets huma's package variables, once for the process. Whatever makes
// schemas with huma calls it first: hubs start side by side in tests, and a schema that one
// makes must not read what another sets.
var SetHumaVariables = sync.OnceFunc(func() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError { return humaError(status, msg, errs...) }
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		p := humaError(status, msg, errs...)
		if adapt, ok := ctx.Operation().Metadata[module.MetadataErrorAdapter].(module.ErrorAdapter); ok {
			adaptProblem(p, adapt)
		}
		return p
	}
	huma.ErrorFormatter = formatRule  //nolint:reassign // huma has no other setting for it
	huma.DefaultArrayNullable = false // a list is empty, never null
})

// formatRule formats huma's validation messages. It removes the error of a parser at the
// end, because parsers quote the input.
func formatRule(format string, args ...any) string {
	if rule, quoting := strings.CutSuffix(format, ": %v"); quoting {
		return rule
	}
	return fmt.Sprintf(format, args...)
}

// finishProblem adds the request id and headers to an error response of huma, and writes
// it in the form of its operation's errors.
func finishProblem(ctx huma.Context, log *slog.Logger, p *Problem) any {
	finished := *p // p may be a value that several requests share
	finished.RequestID = RequestID(ctx.Context())
	finished.headers(ctx.SetHeader)
	op := ctx.Operation()
	logProblem(ctx.Context(), log, &finished, op.Method, op.Path)
	if shape, ok := op.Metadata[module.MetadataErrorFormat].(module.ErrorFormat); ok {
		ctx.SetHeader("Content-Type", shape.MediaType)
		return shape.Write(responseOf(&finished))
	}
	return &finished
}

// adaptProblem sets the status and the members that the operation's adapter returns.
func adaptProblem(p *Problem, adapt module.ErrorAdapter) {
	status, members := adapt(responseOf(p))
	p.Status, p.Title = status, http.StatusText(status)
	all := maps.Clone(p.members)
	if all == nil {
		all = make(hub.Extensions, len(members))
	}
	maps.Copy(all, members)
	p.members = all
}

func responseOf(p *Problem) module.ErrorResponse {
	response := module.ErrorResponse{Status: p.Status, Code: p.Code, Detail: p.Detail}
	for _, field := range p.Errors {
		response.Locations = append(response.Locations, field.Location)
	}
	return response
}

// humaError returns the problem of huma.NewError. huma calls it for its own refusals, for
// huma.Error4xx, and with a 500 for the error of a handler.
func humaError(status int, msg string, errs ...error) *Problem {
	var cause error
	for _, err := range errs {
		var known *hub.Error
		if errors.As(err, &known) {
			p := problemOf(err)
			return &p
		}
		cause = err
	}
	if status == http.StatusInternalServerError {
		if cause == nil {
			cause = errors.New(msg)
		}
		p := problemOf(cause)
		return &p
	}
	p := newProblem(status, "", msg, 0, cause)
	invalid := 0
	for _, err := range errs {
		var detailer huma.ErrorDetailer
		if !errors.As(err, &detailer) {
			continue
		}
		if invalid++; invalid <= maxFields {
			p.Errors = append(p.Errors, fieldOf(detailer.ErrorDetail()))
		}
	}
	p.Detail = withFirstField(p.Detail, p.Errors, invalid)
	return &p
}

// Limits on what a response says about invalid inputs: a body full of unknown fields
// must not be returned as a whole.
const (
	maxFields   = 20  // inputs
	maxLocation = 120 // characters of a location
)

// otherType is the JSON decoder's error for a member of another JSON type, of which huma passes on the
// text alone. It does not match numbers out of range, which the text quotes.
var otherType = regexp.MustCompile(`^json: cannot unmarshal (?:string|number|bool|array|object) into Go struct field [A-Za-z0-9_]*\.([A-Za-z0-9_.]+) of type `)

// fieldOf returns the location and the message of a validation error, never the value.
// Errors of the JSON decoder or of a type's own decoder arrive as one error about the
// whole body, whose text may quote it.
func fieldOf(detail *huma.ErrorDetail) FieldProblem {
	_, raw := detail.Value.(string)
	if mismatch := otherType.FindStringSubmatch(detail.Message); mismatch != nil && raw && detail.Location == "body" {
		return FieldProblem{Location: printableLocation("body." + mismatch[1]), Message: "has another type than documented"}
	}
	if detail.Location == "body" && raw && !strings.HasPrefix(detail.Message, "expected ") {
		return FieldProblem{Location: "body", Message: "does not have the documented form"}
	}
	// huma names a missing property in the message, and its parent as the location.
	if rest, ok := strings.CutPrefix(detail.Message, "expected required property "); ok {
		name := strings.TrimSuffix(rest, " to be present")
		return FieldProblem{Location: printableLocation(detail.Location + "." + name), Message: "is required"}
	}
	return FieldProblem{Location: printableLocation(detail.Location), Message: detail.Message}
}

// printableLocation makes a location safe to show. Names of unknown fields in it come
// from the caller: unprintable characters are replaced and long names are cut.
func printableLocation(location string) string {
	location = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, location)
	characters := 0
	for i := range location {
		if characters++; characters > maxLocation {
			return location[:i] + "…"
		}
	}
	return location
}

// withFirstField adds the first invalid input to the detail; count is the number of
// invalid inputs.
func withFirstField(detail string, fields []FieldProblem, count int) string {
	if len(fields) == 0 {
		return detail
	}
	detail += ": " + strings.TrimSpace(fields[0].Location+" "+fields[0].Message)
	if more := count - 1; more > 0 {
		detail += " (and " + strconv.Itoa(more) + " more)"
	}
	return detail
}

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return ProblemType }

var (
	_ huma.StatusError       = (*Problem)(nil)
	_ huma.ContentTypeFilter = (*Problem)(nil)
)
