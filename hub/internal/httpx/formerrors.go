package httpx

import (
	"bytes"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"integrationhub/hub/module"
)

// formErrors adapts errors of forms that cannot be read to the errors of their operation.
// fasthttp reads a form before fiber routes the request, and forgets the request when that
// fails: the adapter is stored when the headers have arrived.
type formErrors struct {
	mu       sync.Mutex
	adapters map[*fasthttp.RequestHeader]formAdapter // of requests whose body is being read
	now      func() time.Time
}

// formAdapter adapts the errors of one request.
type formAdapter struct {
	adapt   module.ErrorAdapter
	expires time.Time // the body has arrived by then, or its connection is gone
}

// AdaptErrors adapts the errors of forms that are refused while they are read. find
// returns the error adapter of the operation of a path that takes forms, or nil if it has
// none. Call AdaptErrors before the app listens.
func (u *Uploads) AdaptErrors(app *fiber.App, find func(method, path string) module.ErrorAdapter) {
	server := app.Server()
	next := server.HeaderReceived
	server.HeaderReceived = func(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
		if isForm(header.ContentType()) {
			path, _, _ := bytes.Cut(header.RequestURI(), []byte("?"))
			if adapter := find(string(header.Method()), string(path)); adapter != nil {
				u.forms.put(header, adapter)
			}
		}
		if next == nil {
			return fasthttp.RequestConfig{}
		}
		return next(header)
	}
}

func (f *formErrors) put(header *fasthttp.RequestHeader, adapter module.ErrorAdapter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for pending, entry := range f.adapters {
		if !entry.expires.After(now) {
			delete(f.adapters, pending)
		}
	}
	f.adapters[header] = formAdapter{adapter, now.Add(longTimeout)}
}

// take removes and returns the adapter of a request, or nil if there is none.
func (f *formErrors) take(header *fasthttp.RequestHeader) module.ErrorAdapter {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry := f.adapters[header]
	delete(f.adapters, header)
	return entry.adapt
}

// adapt returns an error in the form of its operation's errors.
func (f *formErrors) adapt(c *fiber.Ctx, err error) error {
	adapter := f.take(&c.Request().Header)
	if adapter == nil {
		return err
	}
	problem := problemOfRequest(c, err)
	adaptProblem(&problem, adapter)
	return &problem
}

// isForm reports whether a media type is that of forms with files.
func isForm(media []byte) bool {
	return len(media) >= len(fiber.MIMEMultipartForm) && bytes.EqualFold(media[:len(fiber.MIMEMultipartForm)], []byte(fiber.MIMEMultipartForm))
}
