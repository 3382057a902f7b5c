// Package notes is a tiny hosted product for tests of what the hub does for products:
// it keeps a note of every event that its tenants' peers send.
package notes

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

//go:embed migrations
var files embed.FS

// Types of events it receives.
const (
	EventCreated   = "note.created" // data.text becomes a note
	EventSeen      = "note.seen"    // is accepted, and no note is made
	EventIgnored   = "note.boring"  // is ignored
	EventFailing   = "note.broken"  // cannot be handled, though a note was written
	EventPanicking = "note.panics"
)

// Module is the product. Several may run in one hub under different names.
type Module struct {
	spec     module.Spec
	presents bool
}

// New makes a product under a name whose first three letters are its keys' prefix.
func New(name string) Module {
	return Module{spec: module.Spec{
		Name: name, Title: name, KeyPrefix: name[:3], TenantPrefix: "owner", Version: "1.2.3",
		Features: []string{"note.search", "note.write"}, Receives: []string{EventCreated, EventSeen, EventIgnored, EventFailing, EventPanicking}, Sends: []string{EventCreated},
	}}
}

// NewPresenter makes one that answers its administrators on connect and status in a
// shape of its own.
func NewPresenter(name string) Module {
	m := New(name)
	m.presents = true
	return m
}

// Spec implements [module.Module].
func (m Module) Spec() module.Spec { return m.spec }

// Migrations implements [module.Module].
func (m Module) Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err)
	}
	return sub
}

// Open implements [module.Module].
func (m Module) Open(_ context.Context, host module.Host) (module.Instance, error) {
	if m.presents {
		return &presenting{instance{host: host}}, nil
	}
	return &instance{host: host}, nil
}

// presenting is an instance with a shape of its own for administrators.
type presenting struct{ instance }

var _ module.Presenter = (*presenting)(nil)

// PresentConnect implements [module.Presenter].
func (*presenting) PresentConnect(i module.Integration) any {
	return map[string]any{"connected_to": i.Product, "works": i.Status == "active", "for": i.EnabledUses}
}

// PresentStatus implements [module.Presenter].
func (p *presenting) PresentStatus(list []module.Integration) any {
	integrations := make([]any, len(list))
	for i, integration := range list {
		integrations[i] = p.PresentConnect(integration)
	}
	return map[string]any{"peers": integrations}
}

type instance struct{ host module.Host }

var (
	_ module.SearchProvider = (*instance)(nil)
	_ module.ActionProvider = (*instance)(nil)
	_ module.PhoneSearcher  = (*instance)(nil)
	_ module.EmailSearcher  = (*instance)(nil)
	_ module.CPFSearcher    = (*instance)(nil)
	_ module.JobProvider    = (*instance)(nil)
	_ module.PageProvider   = (*instance)(nil)
)

// Note is one note.
type Note struct {
	Author string `json:"author"`
	Text   string `json:"text"`
}

type registerInput struct {
	Body struct {
		Name string `json:"name"`
	} `nameHint:"NotesRegister"`
}

type registerOutput struct {
	Body struct {
		TenantID   uuid.UUID `json:"tenant_id"`
		Token      string    `json:"token"`
		StaffToken string    `json:"staff_token"`
	} `nameHint:"NotesRegistered"`
}

type notesOutput struct {
	Body struct {
		Notes []Note `json:"notes"`
		Peer  string `json:"peer"`
	} `nameHint:"Notes"`
}

// RegisterRoutes implements [module.Instance].
func (i *instance) RegisterRoutes(api huma.API) {
	huma.Register(api, huma.Operation{OperationID: "auth.register", Method: http.MethodPost, Path: "/api/v1/auth/register", DefaultStatus: 201, Metadata: map[string]any{module.MetadataSignUp: true}}, i.register)
	huma.Register(api, huma.Operation{
		OperationID: "notes.list", Method: http.MethodGet, Path: "/api/v1/notes",
		Security: []map[string][]string{{module.SchemeBearer: {}}},
	}, i.list)
	huma.Register(api, huma.Operation{
		OperationID: "notes.get", Method: http.MethodGet, Path: "/api/v1/notes/{text}",
		Security: []map[string][]string{{module.SchemeBearer: {}}},
	}, i.get)
	huma.Register(api, huma.Operation{
		OperationID: "notes.publish", Method: http.MethodPost, Path: "/api/v1/publish", DefaultStatus: 202,
		Security: []map[string][]string{{module.SchemeBearer: {}}},
	}, i.publish)
	huma.Register(api, huma.Operation{OperationID: "notes.echo", Method: http.MethodPost, Path: "/api/v1/echo", DefaultStatus: 202}, i.echo)
	huma.Register(api, huma.Operation{OperationID: "notes.use", Method: http.MethodPost, Path: "/api/v1/use"}, i.use)
}

// RegisterSearches implements [module.SearchProvider].
func (i *instance) RegisterSearches(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "notes.search", Method: http.MethodGet, Path: "/notes",
		Security: []map[string][]string{{module.SchemeKey: {"note.search"}}},
	}, i.list)
}

// RegisterActions implements [module.ActionProvider].
func (i *instance) RegisterActions(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "notes.write", Method: http.MethodPost, Path: "/write",
		Security: []map[string][]string{{module.SchemeKey: {"note.write"}}},
	}, i.write)
}

func (i *instance) register(ctx context.Context, in *registerInput) (*registerOutput, error) {
	out := &registerOutput{}
	out.Body.TenantID, out.Body.Token, out.Body.StaffToken = uuid.Must(uuid.NewV7()), uuid.NewString(), uuid.NewString()
	err := pgx.BeginFunc(ctx, i.host.Pool, func(tx pgx.Tx) error {
		if err := i.host.Tenants.Put(ctx, tx, module.Tenant{ID: out.Body.TenantID, Name: in.Body.Name}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into users (id, tenant_id, token, admin) values ($1, $3, $4, true), ($2, $3, $5, false)`,
			uuid.New(), uuid.New(), out.Body.TenantID, out.Body.Token, out.Body.StaffToken)
		return err
	})
	return out, err
}

func (i *instance) list(ctx context.Context, _ *struct{}) (*notesOutput, error) {
	caller, _ := module.CallerFrom(ctx)
	rows, err := i.host.Pool.Query(ctx, `select author, text from notes where tenant_id = $1 and environment = $2 order by text`, caller.TenantID, caller.Environment)
	if err != nil {
		return nil, err
	}
	out := &notesOutput{}
	out.Body.Peer = caller.Peer
	out.Body.Notes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Note])
	return out, err
}

func (i *instance) get(ctx context.Context, in *struct {
	Text string `path:"text"`
}) (*struct{ Body Note }, error) {
	caller, _ := module.CallerFrom(ctx)
	out := &struct{ Body Note }{}
	err := i.host.Pool.QueryRow(ctx, `select author, text from notes where tenant_id = $1 and environment = $2 and text = $3 limit 1`,
		caller.TenantID, caller.Environment, in.Text).Scan(&out.Body.Author, &out.Body.Text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, hub.Errorf(hub.ErrNotFound, "no_note", "There is no such note.")
	}
	return out, err
}

func (i *instance) write(ctx context.Context, in *struct{ Body Note }) (*struct{ Body Note }, error) {
	caller, _ := module.CallerFrom(ctx)
	_, err := i.host.Pool.Exec(ctx, `insert into notes (tenant_id, environment, author, event_id, text) values ($1, $2, $3, '', $4)`,
		caller.TenantID, caller.Environment, caller.Peer, in.Body.Text)
	return &struct{ Body Note }{Note{caller.Peer, in.Body.Text}}, err
}

// echo has the job "echo" write its payload down.
func (i *instance) echo(ctx context.Context, in *struct{ Body Note }) (*struct{}, error) {
	return nil, pgx.BeginFunc(ctx, i.host.Pool, func(tx pgx.Tx) error {
		return i.host.Jobs.Enqueue(ctx, tx, module.JobRun{Job: "echo", Key: in.Body.Author, Payload: []byte(in.Body.Text)})
	})
}

// publish stores a note and publishes its event in one transaction. A text that begins with
// "undo" rolls both back. An author is a phone number.
// With count there are as many events, with a number behind the text.
func (i *instance) publish(ctx context.Context, in *struct {
	Priority int `query:"priority" minimum:"-1" maximum:"1" doc:"Of the events: -1 high, 0 normal, 1 bulk"`
	Count    int `query:"count" minimum:"0" maximum:"10000" doc:"How many events; absent: one"`
	Body     Note
},
) (*struct{ Body Published }, error) {
	caller, _ := module.CallerFrom(ctx)
	batch := make([]hub.Event, max(1, in.Count))
	for n := range batch {
		members := map[string]string{"text": in.Body.Text}
		if in.Count > 0 {
			members["text"] += strconv.Itoa(n)
		}
		if in.Body.Author != "" {
			members["phone"] = in.Body.Author
		}
		data, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		batch[n] = hub.Event{TenantID: caller.TenantID, Environment: caller.Environment, Type: EventCreated, Data: data, Priority: hub.Priority(in.Priority)}
	}
	out := &struct{ Body Published }{}
	err := pgx.BeginFunc(ctx, i.host.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into notes (tenant_id, environment, author, event_id, text) values ($1, $2, 'self', '', $3)`,
			caller.TenantID, caller.Environment, in.Body.Text)
		if err != nil {
			return err
		}
		ids, err := i.host.Events.PublishTo(ctx, tx, module.Audience{}, batch)
		if err != nil {
			return err
		}
		out.Body.ID = ids[0]
		if strings.HasPrefix(in.Body.Text, "undo") {
			return hub.Errorf(hub.ErrConflict, "undone", "It was taken back.")
		}
		return nil
	})
	return out, err
}

// Published is an event that was stored.
type Published struct {
	ID string `json:"id"`
}

// HostUsage has the results of using the services that the hub provides.
type HostUsage struct {
	URL     string `json:"url"`     // of the note as a picture
	Health  int    `json:"health"`  // status of the hub's own health, asked over the network
	Payment string `json:"payment"` // the provider in the settings
}

// use sends a note to its author by mail, keeps it as a picture and asks the hub how
// it does. An author "undo@…" gets no mail.
func (i *instance) use(ctx context.Context, in *struct{ Body Note }) (*struct{ Body HostUsage }, error) {
	name, err := i.host.Files.Put(ctx, module.Picture{Type: "image/png", Content: []byte(in.Body.Text)})
	if err != nil {
		return nil, err
	}
	req, err := hub.NewRequest(ctx, http.MethodGet, i.host.URLs.Public+"/health", nil)
	if err != nil {
		return nil, err
	}
	health, err := hub.Exchange(i.host.HTTP, req)
	if err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, i.host.Pool, func(tx pgx.Tx) error {
		err := i.host.Mail.Send(ctx, tx, module.Email{TenantID: uuid.New(), To: in.Body.Author, FromName: "Notes", Subject: "A note", Text: in.Body.Text})
		if err == nil && strings.HasPrefix(in.Body.Author, "undo") {
			err = hub.Errorf(hub.ErrConflict, "undone", "It was taken back.")
		}
		return err
	})
	out := HostUsage{URL: i.host.Files.URL(name), Health: health.Status, Payment: i.host.Settings.PaymentProvider}
	return &struct{ Body HostUsage }{out}, err
}

// Authenticate implements [module.Instance].
func (i *instance) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	caller := module.Caller{Name: "somebody", Role: "staff"}
	err := i.host.Pool.QueryRow(ctx, `select id, tenant_id, admin from users where token = $1`, token).Scan(&caller.UserID, &caller.TenantID, &caller.Admin)
	if errors.Is(err, pgx.ErrNoRows) {
		return caller, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "This token is not good.")
	}
	return caller, err
}

// Handle implements [module.Instance].
func (i *instance) Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error {
	var data struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	if e.Type == EventSeen {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into notes (tenant_id, environment, author, event_id, text) values ($1, $2, $3, $4, $5)`,
		e.TenantID, e.Environment, e.Product, e.ID, data.Text)
	switch {
	case err != nil:
		return err
	case e.Type == EventIgnored:
		return module.ErrIgnored
	case e.Type == EventFailing:
		return errors.New("taking a note: out of ink")
	case e.Type == EventPanicking:
		panic("the pencil broke")
	}
	return nil
}

// SearchPhone implements [module.PhoneSearcher]: a note's first word may be a phone number, and the
// rest is a name.
func (i *instance) SearchPhone(ctx context.Context, phone string) ([]module.PersonMatch, error) {
	return i.search(ctx, `split_part(text, ' ', 1) = $1`, phone)
}

// SearchEmail implements [module.EmailSearcher]: as SearchPhone.
func (i *instance) SearchEmail(ctx context.Context, email string) ([]module.PersonMatch, error) {
	return i.search(ctx, `lower(split_part(text, ' ', 1)) = $1`, email)
}

// SearchCPFEnd implements [module.CPFSearcher]: a note may have a CPF anywhere.
func (i *instance) SearchCPFEnd(ctx context.Context, lastTwo string) ([]module.PersonMatch, error) {
	return i.search(ctx, `text ~ ('[0-9]{3}[.][0-9]{3}[.][0-9]{3}-' || $1)`, lastTwo)
}

// search returns the notes that a condition on $1 is true of, named by what follows the first
// word.
func (i *instance) search(ctx context.Context, condition, text string) ([]module.PersonMatch, error) {
	rows, err := i.host.Pool.Query(ctx, `select tenant_id, 'note', id::text, substr(text, length(split_part(text, ' ', 1)) + 2), $2 || '/notes/' || id
		from notes where `+condition+` order by id limit 100`, text, i.host.URLs.Base)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[module.PersonMatch])
}

// Jobs implements [module.JobProvider].
func (i *instance) Jobs() []module.Job {
	run := func(ctx context.Context, payload []byte) error {
		_, err := i.host.Pool.Exec(ctx, `insert into runs (payload) values ($1)`, string(payload))
		return err
	}
	return []module.Job{
		{Name: "echo", Run: run},
		{Name: "tick", Every: time.Hour, Run: func(ctx context.Context, _ []byte) error { return run(ctx, []byte("tick")) }},
	}
}

// Pages implements [module.PageProvider].
func (i *instance) Pages() map[string]http.Handler {
	return map[string]http.Handler{"/book/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/book/broken" {
			_, _ = w.Write([]byte("half a page"))
			panic("broken page")
		}
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			w.Header().Set("Cache-Control", "public, max-age=60")
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = fmt.Fprintf(w, "page %s %s%s to %s of %s", r.Method, r.URL, body, module.ClientIP(r.Context()), r.Header.Get("Accept-Language"))
	})}
}
