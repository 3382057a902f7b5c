package httpx

import (
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module"
)

// ErrorFormats are the formats of errors below paths, where they are not a [Problem]. They
// apply to errors that belong to no operation, such as 404 and 405. The zero value has none.
type ErrorFormats struct {
	paths []formattedPath
}

type formattedPath struct {
	app    *fiber.App
	path   string // in lower case, as fiber compares paths
	format module.ErrorFormat
}

// Add sets the format of the errors of an app below a path, such as /clinic/fhir. Call Add
// before the app listens.
func (f *ErrorFormats) Add(app *fiber.App, path string, format module.ErrorFormat) {
	f.paths = append(f.paths, formattedPath{app, strings.ToLower(path), format})
}

// find returns the format of a request's errors; ok is false for a [Problem].
func (f *ErrorFormats) find(c *fiber.Ctx) (format module.ErrorFormat, ok bool) {
	path := strings.ToLower(c.Path())
	for _, formatted := range f.paths {
		if rest, below := strings.CutPrefix(path, formatted.path); below && c.App() == formatted.app && (rest == "" || rest[0] == '/') {
			return formatted.format, true
		}
	}
	return format, false
}

// ErrorHandler is [ErrorHandler] with the formats.
func (f *ErrorFormats) ErrorHandler(log *slog.Logger) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		p := problemOfRequest(c, err)
		ensureRequestID(c) // so that the log line has it too
		logProblem(c.UserContext(), log, &p, c.Method(), c.Route().Path)
		lingerAfter(c, p.Status)
		format, ok := f.find(c)
		if !ok {
			return writeProblem(c, p)
		}
		body, err := json.Marshal(format.Write(responseOf(&p)))
		if err != nil {
			return err
		}
		return sendError(c, p, format.MediaType, body)
	}
}
