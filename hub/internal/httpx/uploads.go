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

// MaxHeld is how many bytes of long bodies a process takes in at once; reading a form
// takes up to three times its length.
const MaxHeld = 2 * 16 << 20

// uploadRetry is when those who found no room are asked to come back.
const uploadRetry = 10 * time.Second

// headerUpload carries, inside of the process, what was decided of a long body before it
// was read: the id of its room, or why there is none. What a client sends there is none of
// the process's words.
const headerUpload = "X-Hub-Upload"

// Admission is what becomes of a body that is longer than [MaxBody].
type Admission struct {
	Most      int  // bytes; 0: it may not be longer
	AdminOnly bool // it may for administrators, and who sends it is none
}

// Uploads bounds the memory that long bodies take while they are read and handled.
type Uploads struct {
	mu   sync.Mutex
	most int               // bytes
	held map[string]upload // by id
	now  func() time.Time

	// Why a long body has no room, in words that no client knows.
	busy, admin string
}

// upload is room that somebody has. A sender who breaks off may leave it behind: it ends
// when no more of the body would be read, or, once that is handled, with the handling.
type upload struct {
	bytes int
	until time.Time // zero: it is handled now
}

// NewUploads makes room for so many bytes.
func NewUploads(most int, now func() time.Time) *Uploads {
	return &Uploads{most: most, held: make(map[string]upload), now: now, busy: uuid.NewString(), admin: uuid.NewString()}
}

// take gives room for a body; false where there is none.
func (u *Uploads) take(length int) (id string, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now, sum := u.now(), length
	for id, one := range u.held {
		if !one.until.IsZero() && !one.until.After(now) {
			delete(u.held, id)
			continue
		}
		sum += one.bytes
	}
	if sum > u.most {
		return "", false
	}
	id = uuid.NewString()
	u.held[id] = upload{length, now.Add(longTimeout)}
	return id, true
}

// keep has room for as long as the body is handled, however long that takes.
func (u *Uploads) keep(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if one, ok := u.held[id]; ok {
		u.held[id] = upload{bytes: one.bytes}
	}
}

func (u *Uploads) free(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.held, id)
}

// Handler gives the room of a body back when it was handled.
func (u *Uploads) Handler(c *fiber.Ctx) error {
	if id := c.Get(headerUpload); id != "" {
		u.keep(id)
		defer u.free(id)
	}
	return c.Next()
}

// Errors answers those whose long body was refused before it was read, and gives back the
// room of bodies that broke off.
func (u *Uploads) Errors(next fiber.ErrorHandler) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		mark := c.Get(headerUpload)
		u.free(mark)
		if !errors.Is(err, fiber.ErrRequestEntityTooLarge) {
			return next(c, err)
		}
		switch mark {
		case u.admin:
			err = hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
		case u.busy:
			busy := hub.Errorf(hub.ErrUnavailable, "uploads_busy", "Other files are being uploaded; try again in a moment.")
			busy.RetryAfter = uploadRetry
			err = busy
		}
		unreadBody(c)
		return next(c, err)
	}
}

// BodyLimits lets forms be longer than fiber's BodyLimit where admit, which is asked once
// a request's headers are there, says so and there is room. Call it before the app
// listens; a later call adds to an earlier one.
func (u *Uploads) BodyLimits(app *fiber.App, admit func(method, path, authorization string) Admission) {
	server := app.Server()
	before := server.HeaderReceived
	form := []byte(fiber.MIMEMultipartForm)
	server.HeaderReceived = func(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
		if media := header.ContentType(); len(media) < len(form) || !bytes.EqualFold(media[:len(form)], form) {
			return fasthttp.RequestConfig{} // nearly all of them: no time to lose
		}
		if length := header.ContentLength(); length >= 0 && length <= app.Config().BodyLimit {
			return fasthttp.RequestConfig{}
		}
		path, _, _ := bytes.Cut(header.RequestURI(), []byte("?"))
		admission := admit(string(header.Method()), string(path), string(header.Peek(fiber.HeaderAuthorization)))
		switch {
		case admission.Most > 0:
			return u.admit(header, admission)
		case before != nil:
			return before(header)
		}
		return fasthttp.RequestConfig{}
	}
}

// admit finds room for a body, or marks that there is none.
func (u *Uploads) admit(header *fasthttp.RequestHeader, admission Admission) fasthttp.RequestConfig {
	length := header.ContentLength()
	switch {
	case admission.AdminOnly:
		header.Set(headerUpload, u.admin)
		return fasthttp.RequestConfig{}
	case length > admission.Most:
		return fasthttp.RequestConfig{}
	case length < 0: // nobody says how long it will be
		length = admission.Most
	}
	id, ok := u.take(length)
	if !ok {
		header.Set(headerUpload, u.busy)
		return fasthttp.RequestConfig{}
	}
	header.Set(headerUpload, id)
	return fasthttp.RequestConfig{ReadTimeout: longTimeout, MaxRequestBodySize: admission.Most}
}

// Held is how many bytes have room now.
func (u *Uploads) Held() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := 0
	for _, one := range u.held {
		sum += one.bytes
	}
	return sum
}
