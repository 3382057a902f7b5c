package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"image/png"
	"slices"
	"strconv"
	"time"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/store"
)

const qrPixels = 320 // width of a QR code's picture

// Connection is a session of a chat network, or an account at one.
type Connection struct {
	ID                int64                 `json:"id" example:"2"`
	CompanyID         int64                 `json:"companyId" example:"1"`
	Name              string                `json:"name" example:"Reception"`
	Driver            string                `json:"driver" doc:"The network" example:"sandbox"`
	Status            chat.ConnectionStatus `json:"status" enum:"OPENING,qrcode,PAIRING,CONNECTED,TIMEOUT,DISCONNECTED,BANNED,OUTDATED" doc:"Messages flow while it is CONNECTED"`
	QRCode            string                `json:"qrcode" doc:"Text of the QR code to scan; empty in other states"`
	QRExpiresAt       *time.Time            `json:"qrExpiresAt" doc:"When the QR code expires"`
	Retries           int                   `json:"retries" doc:"QR codes in a row that nobody scanned"`
	Number            *string               `json:"number" doc:"The connection's own phone number, once it is known" example:"5511900000001"`
	IsDefault         bool                  `json:"isDefault" doc:"Messages that name no connection are sent on it"`
	GreetingMessage   string                `json:"greetingMessage" doc:"Sent when a ticket begins"`
	FarewellMessage   string                `json:"farewellMessage" doc:"Sent when a ticket is closed"`
	OutOfHoursMessage string                `json:"outOfHoursMessage" doc:"Sent outside of opening hours"`
	RatingMessage     string                `json:"ratingMessage" doc:"Sent when a ticket is closed, to ask for a rating of 1 to 5"`
	SendIntervalMS    int                   `json:"sendIntervalMs" doc:"Milliseconds between messages of programs; those of users are not held back"`
	DailyLimit        int                   `json:"dailyLimit" doc:"Messages of campaigns a day; 0: no limit"`
	LastError         *string               `json:"lastError" doc:"Why it is not connected"`
	CreatedAt         time.Time             `json:"createdAt"`
	UpdatedAt         time.Time             `json:"updatedAt"`
}

type connectionOutput struct{ Body Connection }

func toConnection(c store.Connection) Connection {
	return Connection{
		ID: c.ID, CompanyID: c.CompanyID, Name: c.Name, Driver: c.Driver, Status: c.Status, QRCode: c.QRCode, QRExpiresAt: c.QRExpiresAt, Retries: c.Retries,
		Number: c.Number, IsDefault: c.IsDefault, GreetingMessage: c.GreetingMessage, FarewellMessage: c.FarewellMessage,
		OutOfHoursMessage: c.OutOfHoursMessage, RatingMessage: c.RatingMessage, SendIntervalMS: c.SendIntervalMS, DailyLimit: c.DailyLimit, LastError: c.LastError, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

// requireConnection returns a connection of the company, or a [hub.ErrNotFound].
func (a *API) requireConnection(ctx context.Context, scope store.Scope, id int64) (store.Connection, error) {
	connection, err := a.store.Connection(ctx, scope.Company, id)
	return connection, mapNoRows(err, notFound("no_wapp_found", "connection"))
}

func (a *API) listConnections(ctx context.Context, _ *struct{}) (*struct{ Body []Connection }, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.Connections(ctx, actor.scope.Company)
	return &struct{ Body []Connection }{rest.Map(rows, toConnection)}, err
}

func (a *API) getConnection(ctx context.Context, in *IDParam) (*connectionOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, actor.scope, in.ID)
	return &connectionOutput{toConnection(connection)}, err
}

// ConnectionFields are the settings of a connection.
type ConnectionFields struct {
	Name              rest.Optional[string] `json:"name,omitempty" minLength:"2" maxLength:"60" doc:"Unique in the company"`
	GreetingMessage   rest.Optional[string] `json:"greetingMessage,omitempty" maxLength:"4096" doc:"Sent when a ticket begins"`
	FarewellMessage   rest.Optional[string] `json:"farewellMessage,omitempty" maxLength:"4096" doc:"Sent when a ticket is closed"`
	OutOfHoursMessage rest.Optional[string] `json:"outOfHoursMessage,omitempty" maxLength:"4096" doc:"Sent outside of opening hours"`
	RatingMessage     rest.Optional[string] `json:"ratingMessage,omitempty" maxLength:"4096" doc:"Sent when a ticket is closed"`
	SendIntervalMS    rest.Optional[int]    `json:"sendIntervalMs,omitempty" minimum:"0" maximum:"3600000" doc:"Milliseconds between messages of programs"`
	DailyLimit        rest.Optional[int]    `json:"dailyLimit,omitempty" minimum:"0" maximum:"1000000" doc:"Messages of campaigns a day; 0: no limit"`
	IsDefault         rest.Optional[bool]   `json:"isDefault,omitempty" doc:"true: takes the place of the company's default connection"`
}

func (f ConnectionFields) applyTo(c *store.Connection) error {
	f.Name.ApplyTo(&c.Name)
	f.GreetingMessage.ApplyTo(&c.GreetingMessage)
	f.FarewellMessage.ApplyTo(&c.FarewellMessage)
	f.OutOfHoursMessage.ApplyTo(&c.OutOfHoursMessage)
	f.RatingMessage.ApplyTo(&c.RatingMessage)
	f.SendIntervalMS.ApplyTo(&c.SendIntervalMS)
	f.DailyLimit.ApplyTo(&c.DailyLimit)
	var errs rest.FieldErrors
	errs.Check(!f.IsDefault.HasValue() || f.IsDefault.Value || !c.IsDefault, "body.isDefault", "cannot be false: make another connection the default one")
	f.IsDefault.ApplyTo(&c.IsDefault)
	errs.Check(c.SendIntervalMS >= 0 && c.SendIntervalMS <= 3_600_000, "body.sendIntervalMs", "must be 0 to 3600000")
	errs.Check(c.DailyLimit >= 0 && c.DailyLimit <= 1_000_000, "body.dailyLimit", "must be 0 to 1000000")
	errs.CheckLength(c.RatingMessage, "body.ratingMessage", 0, 4096)
	errs.CheckName(c.Name, "body.name", 60)
	errs.CheckLength(c.Name, "body.name", 2, 60)
	errs.CheckLength(c.GreetingMessage, "body.greetingMessage", 0, 4096)
	errs.CheckLength(c.FarewellMessage, "body.farewellMessage", 0, 4096)
	errs.CheckLength(c.OutOfHoursMessage, "body.outOfHoursMessage", 0, 4096)
	return errs.Err()
}

type createConnectionInput struct {
	Body struct {
		ConnectionFields
		Driver string `json:"driver,omitempty" maxLength:"20" doc:"The network; absent: the sandbox in development"`
	} `nameHint:"NewConnection"`
}

func (a *API) createConnection(ctx context.Context, in *createConnectionInput) (*connectionOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Connection{CompanyID: actor.scope.Company, Driver: in.Body.Driver}
	if draft.Driver == "" {
		draft.Driver = sandbox.Name
	}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	if !a.drivers.Has(draft.Driver) {
		return nil, hub.Invalid("body.driver", "is not a network that this hub can connect to")
	}
	var created store.Connection
	err = a.store.InTx(ctx, "making a connection", func(tx *store.Tx) error {
		created, err = tx.CreateConnection(ctx, draft)
		if err == nil && draft.IsDefault && !created.IsDefault {
			created.IsDefault = true
			created, err = tx.SaveConnection(ctx, created)
		}
		return err
	})
	if err != nil {
		return nil, mapConnectionConflict(err)
	}
	created, err = a.sessions.Start(ctx, created)
	return &connectionOutput{toConnection(created)}, err
}

func mapConnectionConflict(err error) error {
	switch dberr.ConstraintName(err) {
	case "connections_name":
		return refused("wapp_name_already_exists", "A connection of the company has this name already.")
	case "connections_default": // two first connections at once
		return hub.Errorf(hub.ErrUnavailable, "busy", "Another connection is being made; try again.")
	}
	return err
}

type updateConnectionInput struct {
	IDParam
	Body ConnectionFields
}

func (a *API) updateConnection(ctx context.Context, in *updateConnectionInput) (*connectionOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.Connection
	err = a.store.InTx(ctx, "changing a connection", func(tx *store.Tx) error {
		connections, err := tx.LockCompanyConnections(ctx, actor.scope.Company) // all: the default one may change
		if err != nil {
			return err
		}
		i := slices.IndexFunc(connections, func(c store.Connection) bool { return c.ID == in.ID })
		if i < 0 {
			return notFound("no_wapp_found", "connection")
		}
		connection := connections[i]
		if err := in.Body.applyTo(&connection); err != nil {
			return err
		}
		updated, err = tx.SaveConnection(ctx, connection)
		return err
	})
	return &connectionOutput{toConnection(updated)}, mapConnectionConflict(err)
}

func (a *API) deleteConnection(ctx context.Context, in *IDParam) (*messageOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, actor.scope, in.ID)
	if err != nil {
		return nil, err
	}
	if err := a.sessions.Stop(ctx, connection); err != nil {
		return nil, err
	}
	if _, err := a.store.DeleteConnection(ctx, actor.scope.Company, in.ID); err != nil {
		return nil, err
	}
	return &messageOutput{Message{"Connection deleted"}}, nil
}

// startSession starts a connection that is not connected; it gets a QR code.
func (a *API) startSession(ctx context.Context, in *IDParam) (*connectionOutput, error) {
	return a.withConnection(ctx, in.ID, a.sessions.Start)
}

// renewSession pairs a connection anew: its session ends, and it gets a QR code.
func (a *API) renewSession(ctx context.Context, in *IDParam) (*connectionOutput, error) {
	return a.withConnection(ctx, in.ID, func(ctx context.Context, c store.Connection) (store.Connection, error) {
		if err := a.sessions.Stop(ctx, c); err != nil {
			return c, err
		}
		return a.sessions.Start(ctx, c)
	})
}

// endSession logs a connection out.
func (a *API) endSession(ctx context.Context, in *IDParam) (*connectionOutput, error) {
	return a.withConnection(ctx, in.ID, a.sessions.Logout)
}

// withConnection calls work with a connection of the company and returns what became of it.
func (a *API) withConnection(ctx context.Context, id int64, work func(context.Context, store.Connection) (store.Connection, error)) (*connectionOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, actor.scope, id)
	if err == nil {
		connection, err = work(ctx, connection)
	}
	return &connectionOutput{toConnection(connection)}, err
}

// QRCode is the code that pairs a phone with a connection.
type QRCode struct {
	ID        int64                 `json:"id" doc:"Of the connection" example:"2"`
	Status    chat.ConnectionStatus `json:"status" doc:"Of the connection"`
	QRCode    *string               `json:"qrcode" doc:"Text of the code; null where there is nothing to scan"`
	Image     *string               `json:"image" doc:"The code as a data URL of a PNG"`
	ExpiresAt *time.Time            `json:"expiresAt"`
}

func (a *API) getQRCode(ctx context.Context, in *IDParam) (*struct{ Body QRCode }, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, actor.scope, in.ID)
	if err == nil {
		connection, err = a.sessions.RenewQRCode(ctx, connection)
	}
	if err != nil {
		return nil, err
	}
	out := QRCode{ID: connection.ID, Status: connection.Status}
	if connection.Status == chat.ConnectionQRCode {
		image, err := encodeQRCode(connection.QRCode)
		if err != nil {
			return nil, err
		}
		out.QRCode, out.Image, out.ExpiresAt = &connection.QRCode, &image, connection.QRExpiresAt
	}
	return &struct{ Body QRCode }{out}, nil
}

// encodeQRCode returns a QR code as a data URL of a PNG.
func encodeQRCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	if code, err = barcode.Scale(code, qrPixels, qrPixels); err != nil {
		return "", err
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, code); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes()), nil
}

// formatID returns an id as text.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }
