package api

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/picture"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/store"
)

// Connection is a session of a chat network, or an account at one.
type Connection struct {
	ID                int64                 `json:"id" doc:"Id of the connection" example:"2"`
	CompanyID         int64                 `json:"companyId" doc:"The company it belongs to" example:"1"`
	Name              string                `json:"name" doc:"Its name, unique in the company" example:"Reception"`
	Driver            string                `json:"driver" doc:"The network" example:"sandbox"`
	Status            chat.ConnectionStatus `json:"status" enum:"OPENING,qrcode,PAIRING,CONNECTED,TIMEOUT,DISCONNECTED,BANNED,OUTDATED" doc:"Messages flow while it is CONNECTED; while the network does not respond it is TIMEOUT, and they wait"`
	QRCode            string                `json:"qrcode" doc:"Text of the QR code to scan; empty in other states, and for users that are no administrators"`
	QRExpiresAt       *time.Time            `json:"qrExpiresAt" doc:"When the QR code expires"`
	Retries           int                   `json:"retries" doc:"While QR codes are shown, those before that nobody scanned; while the network does not respond, the attempts since then"`
	Number            *string               `json:"number" doc:"The connection's own phone number, once it is known" example:"5511900000001"`
	IsDefault         bool                  `json:"isDefault" doc:"Messages that name no connection are sent on it"`
	GreetingMessage   string                `json:"greetingMessage" doc:"Sent when a ticket begins"`
	FarewellMessage   string                `json:"farewellMessage" doc:"Sent when a ticket is closed"`
	OutOfHoursMessage string                `json:"outOfHoursMessage" doc:"Sent outside of opening hours"`
	RatingMessage     string                `json:"ratingMessage" doc:"Sent when a ticket is closed, to ask for a rating of 1 to 5"`
	SendIntervalMS    int                   `json:"sendIntervalMs" doc:"Milliseconds between messages of programs; those of users are not held back"`
	DailyLimit        int                   `json:"dailyLimit" doc:"Messages of campaigns a day; 0: no limit"`
	QueueIDs          []int64               `json:"queueIds" nullable:"false" doc:"Ids of the queues that its contacts choose from, in the order of the menu"`
	Queues            []TicketQueue         `json:"queues" nullable:"false" doc:"The same queues"`
	TransferQueueID   *int64                `json:"transferQueueId" doc:"Queue of the tickets that nobody accepts in timeToTransfer; null: none"`
	TimeToTransfer    int                   `json:"timeToTransfer" doc:"Minutes; 0: tickets are not transferred"`
	ExpiresTicket     int                   `json:"expiresTicket" doc:"Minutes without an answer of the contact after which a ticket is closed; 0: never"`
	ExpiresInactive   string                `json:"expiresInactiveMessage" doc:"Sent when a ticket is closed so"`
	MaxUseBotQueues   int                   `json:"maxUseBotQueues" doc:"Wrong answers to a menu after which the ticket is left to people; 0: no menus are sent"`
	LastError         *string               `json:"lastError" doc:"Why it is not connected"`
	WebhookURL        *string               `json:"webhookUrl" doc:"Address to enter at the WhatsApp Cloud API, with the connection's verifyToken, or at the bridge; null for other drivers" example:"https://hub.example.com/messaging/webhooks/cloud/2"`
	CreatedAt         time.Time             `json:"createdAt" doc:"When it was made"`
	UpdatedAt         time.Time             `json:"updatedAt" doc:"When it was last changed"`
}

type connectionOutput struct{ Body Connection }

// toConnections returns connections with their queues, as a user sees them: who reads a QR code
// can pair a phone of its own, so that administrators alone do.
func (a *API) toConnections(ctx context.Context, user userPrincipal, rows []store.Connection) ([]Connection, error) {
	queues, err := a.store.QueuesOfConnections(ctx, user.scope.Company, rest.Map(rows, func(c store.Connection) int64 { return c.ID }))
	if err != nil {
		return nil, err
	}
	return rest.Map(rows, func(row store.Connection) Connection {
		c := toConnection(row)
		c.WebhookURL = a.webhookURL(row)
		if !user.isAdmin() {
			c.QRCode = ""
		}
		for _, q := range queues {
			if q.ConnectionID == c.ID {
				c.QueueIDs, c.Queues = append(c.QueueIDs, q.ID), append(c.Queues, TicketQueue{q.ID, q.Name, q.Color})
			}
		}
		return c
	}), nil
}

// connectionOutput returns the response for one connection.
func (a *API) connectionOutput(ctx context.Context, user userPrincipal, row store.Connection) (*connectionOutput, error) {
	connections, err := a.toConnections(ctx, user, []store.Connection{row})
	if err != nil {
		return nil, err
	}
	return &connectionOutput{connections[0]}, nil
}

// toConnection returns a connection without its queues.
func toConnection(c store.Connection) Connection {
	return Connection{
		QueueIDs: []int64{}, Queues: []TicketQueue{}, TransferQueueID: c.TransferQueueID, TimeToTransfer: c.TimeToTransfer, ExpiresTicket: c.ExpiresTicket,
		ExpiresInactive: c.ExpiresInactiveMessage, MaxUseBotQueues: c.MaxUseBotQueues,
		ID: c.ID, CompanyID: c.CompanyID, Name: c.Name, Driver: c.Driver, Status: c.Status, QRCode: c.QRCode, QRExpiresAt: c.QRExpiresAt, Retries: c.Retries,
		Number: c.Number, IsDefault: c.IsDefault, GreetingMessage: c.GreetingMessage, FarewellMessage: c.FarewellMessage,
		OutOfHoursMessage: c.OutOfHoursMessage, RatingMessage: c.RatingMessage, SendIntervalMS: c.SendIntervalMS, DailyLimit: c.DailyLimit, LastError: c.LastError, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

// requireConnection returns a connection of the company, or a [hub.ErrNotFound].
func (a *API) requireConnection(ctx context.Context, scope store.Scope, id int64) (store.Connection, error) {
	return requireConnectionIn(ctx, a.store, scope, id)
}

// connectionReader reads connections: the store, or a transaction.
type connectionReader interface {
	Connection(ctx context.Context, companyID, id int64) (store.Connection, error)
}

// requireConnectionIn is [API.requireConnection] with what a reader finds.
func requireConnectionIn(ctx context.Context, reader connectionReader, scope store.Scope, id int64) (store.Connection, error) {
	connection, err := reader.Connection(ctx, scope.Company, id)
	return connection, dberr.MapNoRows(err, notFound("no_wapp_found", "connection"))
}

func (a *API) listConnections(ctx context.Context, _ *struct{}) (*struct{ Body []Connection }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.Connections(ctx, user.scope.Company)
	if err != nil {
		return nil, err
	}
	connections, err := a.toConnections(ctx, user, rows)
	return &struct{ Body []Connection }{connections}, err
}

func (a *API) getConnection(ctx context.Context, in *IDParam) (*connectionOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, user.scope, in.ID)
	if err != nil {
		return nil, err
	}
	return a.connectionOutput(ctx, user, connection)
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

	QueueIDs        rest.Optional[[]int64] `json:"queueIds,omitempty" maxItems:"30" doc:"Ids of its queues; replaces what was. With more than one it needs a greetingMessage"`
	TransferQueueID rest.Nullable[int64]   `json:"transferQueueId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Queue of the tickets that nobody accepts in timeToTransfer; null: none"`
	TimeToTransfer  rest.Optional[int]     `json:"timeToTransfer,omitempty" minimum:"0" maximum:"43200" doc:"Minutes; 0: tickets are not transferred"`
	ExpiresTicket   rest.Optional[int]     `json:"expiresTicket,omitempty" minimum:"0" maximum:"525600" doc:"Minutes without an answer of the contact after which a ticket is closed; 0: never"`
	ExpiresInactive rest.Optional[string]  `json:"expiresInactiveMessage,omitempty" maxLength:"4096" doc:"Sent when a ticket is closed so"`
	MaxUseBotQueues rest.Optional[int]     `json:"maxUseBotQueues,omitempty" minimum:"0" maximum:"10" doc:"Wrong answers to a menu after which the ticket is left to people; 0: no menus are sent; absent in a new connection: 3"`

	Cloud  rest.Optional[CloudAccount]  `json:"cloud,omitempty" doc:"Of the driver cloud, which needs it: its account, never shown. A change keeps the members that are absent, and checks the account anew"`
	Bridge rest.Optional[BridgeAccount] `json:"bridge,omitempty" doc:"Of the driver bridge, which needs it: the session service, never shown. A change keeps the members that are absent, and starts the connection"`
}

// maxConnectionQueues is how many queues a connection may have: more make no menu.
const maxConnectionQueues = 30

// applyBotTo sets the fields of automatic messages but for the queues.
func (f ConnectionFields) applyBotTo(c *store.Connection, errs *rest.FieldErrors) {
	f.TransferQueueID.ApplyTo(&c.TransferQueueID)
	f.TimeToTransfer.ApplyTo(&c.TimeToTransfer)
	f.ExpiresTicket.ApplyTo(&c.ExpiresTicket)
	f.ExpiresInactive.ApplyTo(&c.ExpiresInactiveMessage)
	f.MaxUseBotQueues.ApplyTo(&c.MaxUseBotQueues)
	errs.Check(c.TimeToTransfer >= 0 && c.TimeToTransfer <= 43_200, "body.timeToTransfer", "must be 0 to 43200")
	errs.Check(c.ExpiresTicket >= 0 && c.ExpiresTicket <= 525_600, "body.expiresTicket", "must be 0 to 525600")
	errs.Check(c.MaxUseBotQueues >= 0 && c.MaxUseBotQueues <= 10, "body.maxUseBotQueues", "must be 0 to 10")
	errs.CheckLength(c.ExpiresInactiveMessage, "body.expiresInactiveMessage", 0, 4096)
	errs.Check(len(f.QueueIDs.Value) <= maxConnectionQueues, "body.queueIds", "must have at most 30 entries")
}

// checkTransferQueue returns a [hub.ErrNotFound] for a queue that is not the company's.
func (f ConnectionFields) checkTransferQueue(ctx context.Context, tx *store.Tx, company int64) error {
	if !f.TransferQueueID.HasValue() {
		return nil
	}
	_, err := tx.Queue(ctx, company, f.TransferQueueID.Value)
	return dberr.MapNoRows(err, errNoQueue())
}

// saveQueues replaces the connection's queues, where they are present, and checks what
// queues need. Queues of other companies are a [hub.ErrNotFound].
func (f ConnectionFields) saveQueues(ctx context.Context, tx *store.Tx, c store.Connection) error {
	if f.QueueIDs.Set {
		found, err := tx.SetConnectionQueues(ctx, c.CompanyID, c.ID, uniqueIDs(f.QueueIDs.Value))
		if err != nil {
			return err
		}
		if !found {
			return errNoQueue()
		}
	}
	if c.GreetingMessage != "" || !f.QueueIDs.Set && !f.GreetingMessage.Set {
		return nil
	}
	queues, err := tx.ListQueuesOfConnection(ctx, c.CompanyID, c.ID)
	if err == nil && len(queues) > 1 {
		err = refused("wapp_greeting_required", "A connection with more than one queue needs a greetingMessage: the menu stands below it.")
	}
	return err
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
	f.applyBotTo(c, &errs)
	return errs.Err()
}

type createConnectionInput struct {
	Body struct {
		ConnectionFields
		Driver string `json:"driver,omitempty" maxLength:"20" doc:"The network: cloud is the WhatsApp Cloud API, bridge a session service of your own, sandbox the simulated one in development; absent: sandbox" example:"sandbox"`
	} `nameHint:"NewConnection"`
}

// defaultWrongAnswers is the maxUseBotQueues of a new connection.
const defaultWrongAnswers = 3

func (a *API) createConnection(ctx context.Context, in *createConnectionInput) (*connectionOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Connection{CompanyID: user.scope.Company, Driver: in.Body.Driver, MaxUseBotQueues: defaultWrongAnswers}
	if draft.Driver == "" {
		draft.Driver = sandbox.Name
	}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	if !a.drivers.Has(draft.Driver) {
		return nil, hub.Invalid("body.driver", "is not a network that this hub can connect to")
	}
	settings, err := a.accountSettings(in.Body.ConnectionFields, draft.Driver, driver.Connection{})
	if err != nil {
		return nil, err
	}
	var created store.Connection
	err = a.store.InTx(ctx, "making a connection", func(tx *store.Tx) error {
		if err := in.Body.checkTransferQueue(ctx, tx, draft.CompanyID); err != nil {
			return err
		}
		created, err = tx.CreateConnection(ctx, draft)
		if err == nil && draft.IsDefault && !created.IsDefault {
			created.IsDefault = true
			created, err = tx.SaveConnection(ctx, created)
		}
		if err == nil && settings != nil {
			created, err = tx.SealSettings(ctx, created, settings)
		}
		if err != nil {
			return err
		}
		return in.Body.saveQueues(ctx, tx, created)
	})
	if err != nil {
		return nil, mapConnectionConflict(err)
	}
	if created, err = a.sessions.Start(ctx, created); err != nil {
		return nil, err
	}
	return a.connectionOutput(ctx, user, created)
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
	Body struct {
		ConnectionFields
		Driver rest.Nullable[string] `json:"driver,omitempty" maxLength:"20" doc:"The network, as it is: it cannot be changed" example:"sandbox"`
	} `nameHint:"ConnectionFields"`
}

func (a *API) updateConnection(ctx context.Context, in *updateConnectionInput) (*connectionOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.Connection
	err = a.store.InTx(ctx, "changing a connection", func(tx *store.Tx) error {
		connections, err := tx.LockCompanyConnections(ctx, user.scope.Company) // all: the default one may change
		if err != nil {
			return err
		}
		i := slices.IndexFunc(connections, func(c store.Connection) bool { return c.ID == in.ID })
		if i < 0 {
			return notFound("no_wapp_found", "connection")
		}
		connection := connections[i]
		if in.Body.Driver.Set && in.Body.Driver.Value != connection.Driver {
			return hub.Invalid("body.driver", "cannot be changed: add a connection of the other network")
		}
		if err := in.Body.applyTo(&connection); err != nil {
			return err
		}
		if err := in.Body.checkTransferQueue(ctx, tx, connection.CompanyID); err != nil {
			return err
		}
		if updated, err = tx.SaveConnection(ctx, connection); err != nil {
			return err
		}
		if in.Body.hasAccount() {
			if updated, err = a.changeAccount(ctx, tx, updated, in.Body.ConnectionFields); err != nil {
				return err
			}
		}
		return in.Body.saveQueues(ctx, tx, updated)
	})
	if err == nil && in.Body.hasAccount() {
		updated, err = a.sessions.Start(ctx, updated)
	}
	if err != nil {
		return nil, mapConnectionConflict(err)
	}
	return a.connectionOutput(ctx, user, updated)
}

func (a *API) deleteConnection(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, user.scope, in.ID)
	if err != nil {
		return nil, err
	}
	if err := a.sessions.Stop(ctx, connection); errors.Is(err, hub.ErrUnavailable) { // its network may be gone for good
		a.host.Log.WarnContext(ctx, "a deleted connection's session could not be ended", "connection_id", connection.ID, "error", err)
	} else if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "deleting a connection", func(tx *store.Tx) error { return tx.RemoveConnection(ctx, user.scope.Company, in.ID) })
	if err != nil {
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
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, user.scope, id)
	if err == nil {
		connection, err = work(ctx, connection)
	}
	if err != nil {
		return nil, err
	}
	return a.connectionOutput(ctx, user, connection)
}

// QRCode is the code that pairs a phone with a connection.
type QRCode struct {
	ID        int64                 `json:"id" doc:"Of the connection" example:"2"`
	Status    chat.ConnectionStatus `json:"status" doc:"Of the connection"`
	QRCode    *string               `json:"qrcode" doc:"Text of the code; null where there is nothing to scan"`
	Image     *string               `json:"image" doc:"The code as a data URL of a PNG"`
	ExpiresAt *time.Time            `json:"expiresAt" doc:"When the QR code expires; null: there is none"`
}

func (a *API) getQRCode(ctx context.Context, in *IDParam) (*struct{ Body QRCode }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, user.scope, in.ID)
	if err == nil {
		connection, err = a.sessions.RenewQRCode(ctx, connection)
	}
	if err != nil {
		return nil, err
	}
	out := QRCode{ID: connection.ID, Status: connection.Status}
	if connection.Status == chat.ConnectionQRCode {
		drawn, err := picture.QRCode(connection.QRCode)
		if err != nil {
			return nil, err
		}
		image := "data:image/png;base64," + base64.StdEncoding.EncodeToString(drawn)
		out.QRCode, out.Image, out.ExpiresAt = &connection.QRCode, &image, connection.QRExpiresAt
	}
	return &struct{ Body QRCode }{out}, nil
}
