package httpx

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// MaxUploadBytes is how many bytes of long bodies a process holds in memory at the same
// time. Reading a form takes up to three times as much.
const MaxUploadBytes = 4 * maxInMemory

// maxOpenBytes is how many bytes of long bodies of strangers it holds beside them.
const maxOpenBytes = 16 << 20

// openTimeout is how long a request with a long body of a stranger may take to arrive.
const openTimeout = 30 * time.Second

// maxInMemory is how much of a form is held in memory: fasthttp writes the rest of a form
// whose length is known to temporary files, and deletes them after the request.
const maxInMemory = 16 << 20

// uploadRetry is the Retry-After of an upload for which there is no room.
const uploadRetry = 10 * time.Second

// headerUpload carries, inside the process, the decision about a long body before it is
// read: the id of its reservation, or one of the two refusals. Clients cannot guess any
// of these values.
const headerUpload = "X-Hub-Upload"

// Admission is the decision about a body that is longer than [MaxBody].
type Admission struct {
	MaxBytes  int  // 0 = no more than MaxBody
	AdminOnly bool // refused: only administrators may send a longer body
	Open      bool // for strangers, and for bodies that are no forms, of known length: they take no room from others
	// Tenant has at most half of the room, so that slow bodies of one leave the rest to others.
	// Nil: unknown, without a share.
	Tenant uuid.UUID
}

// Uploads limits the memory for long bodies while they are read and handled.
type Uploads struct {
	mu           sync.Mutex
	limit        int                    // bytes, of those that are not open
	reservations map[string]reservation // by id
	now          func() time.Time
	forms        formErrors

	// Values of headerUpload for refused bodies; random, so that no client knows them.
	busy, admin string
}

// reservation is the room of one body. A client that disconnects may leave it behind: it
// expires when the body can no longer arrive. Once the body is handled, it ends with the
// handler.
type reservation struct {
	bytes   int
	tenant  uuid.UUID
	isOpen  bool
	expires time.Time // zero: the body is being handled
}

// NewUploads returns uploads limited to so many bytes at the same time.
func NewUploads(limit int, now func() time.Time) *Uploads {
	return &Uploads{limit: limit, reservations: make(map[string]reservation), forms: formErrors{adapters: make(map[*fasthttp.RequestHeader]formAdapter), now: now}, now: now, busy: uuid.NewString(), admin: uuid.NewString()}
}

// reserve reserves room for a body; ok is false if there is not enough. Half of the room is
// enough for any one body, and all that a tenant has.
func (u *Uploads) reserve(length int, isOpen bool, tenant uuid.UUID) (id string, ok bool) {
	limit, timeout := u.limit, longTimeout
	if isOpen {
		limit, timeout = maxOpenBytes, openTimeout
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now, sum, ofTenant := u.now(), length, length
	for id, reserved := range u.reservations {
		if !reserved.expires.IsZero() && !reserved.expires.After(now) {
			delete(u.reservations, id)
			continue
		}
		if reserved.isOpen == isOpen {
			sum += reserved.bytes
			if reserved.tenant == tenant {
				ofTenant += reserved.bytes
			}
		}
	}
	if sum > limit || tenant != uuid.Nil && ofTenant > limit/2 {
		return "", false
	}
	id = uuid.NewString()
	u.reservations[id] = reservation{length, tenant, isOpen, now.Add(timeout)}
	return id, true
}

// startHandling keeps a reservation until release, however long the handler takes.
func (u *Uploads) startHandling(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if reserved, ok := u.reservations[id]; ok {
		u.reservations[id] = reservation{bytes: reserved.bytes, tenant: reserved.tenant, isOpen: reserved.isOpen}
	}
}

func (u *Uploads) release(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.reservations, id)
}

// Handler is the middleware that releases the reservation of a body after its handler.
func (u *Uploads) Handler(c *fiber.Ctx) error {
	if isForm(c.Request().Header.ContentType()) {
		u.forms.take(&c.Request().Header) // its errors are the operation's from here on
	}
	if id := c.Get(headerUpload); id != "" {
		u.startHandling(id)
		defer u.release(id)
	}
	return c.Next()
}

// ErrorHandler wraps an error handler: it answers for long bodies that were refused before they
// were read, and releases the reservations of bodies that did not arrive.
func (u *Uploads) ErrorHandler(next fiber.ErrorHandler) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		decision := c.Get(headerUpload)
		u.release(decision)
		if !errors.Is(err, fiber.ErrRequestEntityTooLarge) {
			return next(c, u.forms.adapt(c, err))
		}
		switch decision {
		case u.admin:
			err = hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
		case u.busy:
			busy := hub.Errorf(hub.ErrUnavailable, "uploads_busy", "Other files are being uploaded; try again in a moment.")
			busy.RetryAfter = uploadRetry
			err = busy
		}
		markUnread(c)
		return next(c, u.forms.adapt(c, err))
	}
}

// BodyLimits admits bodies longer than fiber's BodyLimit if admit allows it and there is
// room: forms, and others where the admission is open. admit is called when the headers of a request have arrived. Call BodyLimits
// before the app listens; further calls add further rules.
func (u *Uploads) BodyLimits(app *fiber.App, admit func(method, path, authorization string) Admission) {
	server := app.Server()
	next := server.HeaderReceived
	server.HeaderReceived = func(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
		length, isForm := header.ContentLength(), isForm(header.ContentType())
		if length >= 0 && length <= app.Config().BodyLimit || length < 0 && !isForm {
			if isForm && next != nil { // another product of the app may adapt the form's errors
				return next(header)
			}
			return fasthttp.RequestConfig{} // the usual case, on the hot path
		}
		path, _, _ := bytes.Cut(header.RequestURI(), []byte("?"))
		admission := admit(string(header.Method()), string(path), string(header.Peek(fiber.HeaderAuthorization)))
		switch {
		case admission.MaxBytes > 0 && (admission.Open || isForm):
			return u.admit(header, admission)
		case next != nil:
			return next(header)
		}
		return fasthttp.RequestConfig{}
	}
}

// admit reserves room for a body, or marks the request as refused.
func (u *Uploads) admit(header *fasthttp.RequestHeader, admission Admission) fasthttp.RequestConfig {
	length, maxBytes := header.ContentLength(), admission.MaxBytes
	switch {
	case admission.AdminOnly:
		header.Set(headerUpload, u.admin)
		return fasthttp.RequestConfig{}
	case length > admission.MaxBytes:
		return fasthttp.RequestConfig{}
	case length < 0: // chunked: of unknown length, and all in memory
		maxBytes = min(maxBytes, maxInMemory)
		length = maxBytes
	}
	id, ok := u.reserve(min(length, maxInMemory), admission.Open, admission.Tenant)
	if !ok {
		header.Set(headerUpload, u.busy)
		return fasthttp.RequestConfig{}
	}
	header.Set(headerUpload, id)
	timeout := longTimeout
	if admission.Open {
		timeout = openTimeout
	}
	return fasthttp.RequestConfig{ReadTimeout: timeout, MaxRequestBodySize: maxBytes}
}
