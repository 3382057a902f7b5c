package httpx

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module"
)

// ErrorFormats are the formats of errors below paths, where they are not a [Problem], and what
// adapts problems there. They apply to errors that belong to no operation, such as 404 and
// 405. The zero value has none.
type ErrorFormats struct {
	formats  []belowPath[module.ErrorFormat]
	adapters []belowPath[module.ErrorAdapter]
}

// belowPath is what applies below a path of an app.
type belowPath[T any] struct {
	app   *fiber.App
	path  string // in lower case, as fiber compares paths
	value T
}

// Add sets the format of the errors of an app below a path, such as /clinic/fhir. Call Add
// before the app listens.
func (f *ErrorFormats) Add(app *fiber.App, path string, format module.ErrorFormat) {
	f.formats = append(f.formats, belowPath[module.ErrorFormat]{app, strings.ToLower(path), format})
}

// Adapt sets what adapts the errors of the router of an app below a path. Call Adapt before
// the app listens.
func (f *ErrorFormats) Adapt(app *fiber.App, path string, adapter module.ErrorAdapter) {
	f.adapters = append(f.adapters, belowPath[module.ErrorAdapter]{app, strings.ToLower(path), adapter})
}

// findBelow returns what applies to the path of a request.
func findBelow[T any](c *fiber.Ctx, list []belowPath[T]) (value T, ok bool) {
	path := strings.ToLower(c.Path())
	for _, entry := range list {
		if rest, below := strings.CutPrefix(path, entry.path); below && c.App() == entry.app && (rest == "" || rest[0] == '/') {
			return entry.value, true
		}
	}
	return value, false
}

// ErrorHandler is [ErrorHandler] with the formats.
func (f *ErrorFormats) ErrorHandler(log *slog.Logger) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		p := problemOfRequest(c, err)
		ensureRequestID(c) // so that the log line has it too
		logProblem(c.UserContext(), log, &p, c.Method(), c.Route().Path)
		lingerAfter(c, p.Status)
		format, ok := findBelow(c, f.formats)
		if !ok {
			var routed *fiber.Error
			if adapt, ok := findBelow(c, f.adapters); ok && errors.As(err, &routed) {
				adaptProblem(&p, adapt)
			}
			return writeProblem(c, p)
		}
		body, err := json.Marshal(format.Write(responseOf(&p)))
		if err != nil {
			return err
		}
		return sendError(c, p, format.MediaType, body)
	}
}
