package httpx

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// The values huma gives an operation that sets neither.
const (
	humaBodyBytes   = 1 << 20
	humaReadTimeout = 5 * time.Second
)

// InstallHuma makes every error of an API built from cfg a [Problem]: huma's own
// validation, huma.Error4xx and whatever handlers return, *[hub.Error] included.
// Failures on our side are logged with their cause. It also leaves the body limit
// and the read deadline to fiber, which has read the body before huma sees it:
// huma's limit would refuse a body of exactly [MaxBody], and its deadline would
// stay on the connection. Part of it sets huma's package variables, once.
func InstallHuma(cfg *huma.Config, log *slog.Logger) {
	installGlobals()
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

var installGlobals = sync.OnceFunc(func() {
	huma.NewError = humaError
	huma.NewErrorWithContext = func(_ huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return humaError(status, msg, errs...)
	}
	huma.ErrorFormatter = formatRule //nolint:reassign // how huma is told
})

// formatRule writes huma's validation messages. Those that end with an error of a
// parser lose it, because parsers quote what they could not read.
func formatRule(format string, args ...any) string {
	if rule, quoting := strings.CutSuffix(format, ": %v"); quoting {
		return rule
	}
	return fmt.Sprintf(format, args...)
}

// finishProblem gives an error answer of huma what only the request knows, in the shape
// that its operation's errors have.
func finishProblem(ctx huma.Context, log *slog.Logger, p *Problem) any {
	done := *p // p may be a value that several requests share
	done.RequestID = RequestID(ctx.Context())
	done.headers(ctx.SetHeader)
	op := ctx.Operation()
	logProblem(ctx.Context(), log, &done, op.Method, op.Path)
	if shape, ok := op.Metadata[module.MetadataErrorFormat].(module.ErrorFormat); ok {
		ctx.SetHeader("Content-Type", shape.MediaType)
		told := module.ErrorResponse{Status: done.Status, Code: done.Code, Detail: done.Detail}
		for _, wrong := range done.Errors {
			told.Locations = append(told.Locations, wrong.Location)
		}
		return shape.Write(told)
	}
	return &done
}

// humaError is huma.NewError: huma calls it for what it refuses itself, for
// huma.Error4xx, and with a 500 around what a handler returned.
func humaError(status int, msg string, errs ...error) huma.StatusError {
	var cause error
	for _, err := range errs {
		var told *hub.Error
		if errors.As(err, &told) {
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
	wrong := 0
	for _, err := range errs {
		var detailer huma.ErrorDetailer
		if !errors.As(err, &detailer) {
			continue
		}
		if wrong++; wrong <= maxFields {
			p.Errors = append(p.Errors, fieldOf(detailer.ErrorDetail()))
		}
	}
	p.Detail = sentence(p.Detail, p.Errors, wrong)
	return &p
}

// Bounds of what an answer says about wrong inputs: a body full of unknown fields
// must not come back whole.
const (
	maxFields   = 20  // inputs named
	maxLocation = 120 // characters of where one is
)

// fieldOf takes over where and what, never the value. What failed below the rules
// of the schema, in the JSON decoder or a type's own decoder, reaches us as one
// error about the whole body whose text may quote it.
func fieldOf(detail *huma.ErrorDetail) FieldProblem {
	_, raw := detail.Value.(string)
	if detail.Location == "body" && raw && !strings.HasPrefix(detail.Message, "expected ") {
		return FieldProblem{Location: "body", Message: "does not have the documented form"}
	}
	// huma names what is missing in the sentence and its parent as the place.
	if rest, ok := strings.CutPrefix(detail.Message, "expected required property "); ok {
		name := strings.TrimSuffix(rest, " to be present")
		return FieldProblem{Location: location(detail.Location + "." + name), Message: "is required"}
	}
	return FieldProblem{Location: location(detail.Location), Message: detail.Message}
}

// location makes a place fit to be shown. The names in it may be the caller's own,
// of fields nobody knows: what is no text for people, such as control characters and
// those that turn the direction of writing, is replaced, and long ones are cut.
func location(place string) string {
	place = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, place)
	shown := 0
	for i := range place {
		if shown++; shown > maxLocation {
			return place[:i] + "…"
		}
	}
	return place
}

// sentence puts the first field's problem into the sentence for people; wrong is how
// many there are.
func sentence(detail string, fields []FieldProblem, wrong int) string {
	if len(fields) == 0 {
		return detail
	}
	detail += ": " + strings.TrimSpace(fields[0].Location+" "+fields[0].Message)
	if more := wrong - 1; more > 0 {
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
