package api

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/cloud"
)

// CloudAccount is the account of a connection at the WhatsApp Cloud API. It is stored
// encrypted and in no response.
type CloudAccount struct {
	PhoneNumberID rest.Optional[string] `json:"phoneNumberId,omitempty" writeOnly:"true" minLength:"1" maxLength:"32" pattern:"^[0-9]+$" doc:"What the Cloud API calls the number" example:"106540352242922"`
	WABAID        rest.Optional[string] `json:"wabaId,omitempty" writeOnly:"true" minLength:"1" maxLength:"32" pattern:"^[0-9]+$" doc:"Id of the WhatsApp Business account" example:"102290129340398"`
	AccessToken   rest.Optional[string] `json:"accessToken,omitempty" writeOnly:"true" minLength:"1" maxLength:"1024" pattern:"^[!-~]+$" doc:"Access token of a system user" example:"EAAGm0PX4ZCpsBA"`
	AppSecret     rest.Optional[string] `json:"appSecret,omitempty" writeOnly:"true" minLength:"1" maxLength:"200" pattern:"^[!-~]+$" doc:"Secret of the app, by which webhooks are signed"`
	VerifyToken   rest.Optional[string] `json:"verifyToken,omitempty" writeOnly:"true" minLength:"1" maxLength:"200" pattern:"^[!-~]+$" doc:"Token that the API repeats when the webhook is set up; choose any"`
}

var (
	cloudID     = regexp.MustCompile(`^[0-9]{1,32}$`)
	cloudSecret = regexp.MustCompile(`^[!-~]+$`)
)

// applyTo returns settings with the changes of a request.
func (account CloudAccount) applyTo(s cloud.Settings) (cloud.Settings, error) {
	account.PhoneNumberID.ApplyTo(&s.PhoneNumberID)
	account.WABAID.ApplyTo(&s.WABAID)
	account.AccessToken.ApplyTo(&s.AccessToken)
	account.AppSecret.ApplyTo(&s.AppSecret)
	account.VerifyToken.ApplyTo(&s.VerifyToken)
	var errs rest.FieldErrors
	check := func(isValid bool, name, value, form string) {
		problem := "must be " + form
		if value == "" {
			problem = "is required: " + form
		}
		errs.Check(isValid, "body.cloud."+name, problem)
	}
	check(cloudID.MatchString(s.PhoneNumberID), "phoneNumberId", s.PhoneNumberID, "1 to 32 digits")
	check(cloudID.MatchString(s.WABAID), "wabaId", s.WABAID, "1 to 32 digits")
	for _, secret := range []struct {
		value, name string
		max         int
	}{{s.AccessToken, "accessToken", 1024}, {s.AppSecret, "appSecret", 200}, {s.VerifyToken, "verifyToken", 200}} {
		isValid := len(secret.value) <= secret.max && cloudSecret.MatchString(secret.value)
		check(isValid, secret.name, secret.value, fmt.Sprintf("1 to %d printable ASCII characters without spaces", secret.max))
	}
	return s, errs.Err()
}

// cloudConnection returns a connection of the Cloud API by the id in its webhook's address,
// of any company. Without one the settings are empty: nothing is verified or signed by them.
func (a *API) cloudConnection(ctx context.Context, id int64) (c driver.Connection, s cloud.Settings, err error) {
	row, err := a.store.ConnectionByID(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (row.Driver != cloud.Name || a.cloud == nil) {
		return c, s, nil
	}
	if err != nil {
		return c, s, err
	}
	if c, err = a.store.DriverConnection(row); err == nil {
		s, err = cloud.ParseSettings(c)
	}
	return c, s, err
}

type cloudVerifyInput struct {
	ConnectionID int64  `path:"connectionId" minimum:"1" maximum:"9007199254740991" doc:"Names the connection that the webhook is of" example:"2"`
	Mode         string `query:"hub.mode" maxLength:"60" doc:"subscribe" example:"subscribe"`
	VerifyToken  string `query:"hub.verify_token" maxLength:"200" doc:"The connection's verifyToken"`
	Challenge    string `query:"hub.challenge" maxLength:"200" doc:"Text that the response repeats" example:"1158201444"`
}

type cloudVerifyOutput struct {
	ContentType string `header:"Content-Type"`
	Options     string `header:"X-Content-Type-Options"`
	Body        []byte
}

// verifyCloudWebhook answers the API's challenge when a webhook is set up there.
func (a *API) verifyCloudWebhook(ctx context.Context, in *cloudVerifyInput) (*cloudVerifyOutput, error) {
	_, settings, err := a.cloudConnection(ctx, in.ConnectionID)
	if err != nil {
		return nil, err
	}
	if in.Mode != "subscribe" || !settings.IsVerified(in.VerifyToken) {
		return nil, hub.Errorf(hub.ErrForbidden, "no_permission", "There is no connection with this id and verify token.")
	}
	return &cloudVerifyOutput{"text/plain; charset=utf-8", "nosniff", []byte(in.Challenge)}, nil
}

// maxCloudWebhook is how long webhooks of the API may be, in bytes: its documentation says up to
// 3 MB.
const maxCloudWebhook = 4 << 20

// withCloudWebhookBody returns the binder of an operation that takes webhooks of the API.
func withCloudWebhookBody(bind rest.Binder) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		op.MaxBodyBytes = maxCloudWebhook
		withSignedBody(bind, "A webhook of the WhatsApp Cloud API, as its documentation describes them")(api, op)
	}
}

type cloudWebhookInput struct {
	ConnectionID int64  `path:"connectionId" minimum:"1" maximum:"9007199254740991" doc:"Names the connection that the webhook is of" example:"2"`
	Signature    string `header:"X-Hub-Signature-256" maxLength:"100" doc:"sha256= and the HMAC-SHA256 of the body's bytes with the connection's appSecret, in hex"`
	RawBody      []byte
}

type cloudWebhookOutput struct {
	Body struct {
		Received bool `json:"received" doc:"true: what it says is stored"`
	} `nameHint:"CloudWebhookReceived"`
}

// receiveCloudWebhook stores what a webhook of the API says. The response is the same for a
// webhook that comes again.
func (a *API) receiveCloudWebhook(ctx context.Context, in *cloudWebhookInput) (*cloudWebhookOutput, error) {
	connection, settings, err := a.cloudConnection(ctx, in.ConnectionID)
	if err != nil {
		return nil, err
	}
	if !settings.IsSigned(in.RawBody, in.Signature) {
		return nil, hub.Errorf(hub.ErrUnauthorized, "unauthorized", "There is no connection with this id whose appSecret signed this body.")
	}
	out := &cloudWebhookOutput{}
	out.Body.Received = true
	return out, a.cloud.Receive(ctx, connection, in.RawBody)
}
