package accounts

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// LoginInput is a request to log in.
type LoginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"254" example:"bia@example.com"`
		Password string `json:"password" maxLength:"1000"`
	} `nameHint:"Login"`
}

// RefreshInput is a request for new tokens.
type RefreshInput struct {
	Body struct {
		RefreshToken string `json:"refresh_token" maxLength:"4096"`
	} `nameHint:"Refresh"`
}

// ForgotPasswordInput is a request for a link.
type ForgotPasswordInput struct {
	Body struct {
		Email string `json:"email" maxLength:"254" example:"bia@example.com"`
	} `nameHint:"ForgotPassword"`
}

// ResetPasswordInput is a request of who has a link.
type ResetPasswordInput struct {
	Body struct {
		Token       string `json:"token" maxLength:"200"`
		NewPassword string `json:"new_password,omitempty" minLength:"8" maxLength:"128"`
		Password    string `json:"password,omitempty" minLength:"8" maxLength:"128" doc:"The same as new_password"`
	} `nameHint:"ResetPassword"`
}

// SessionOutput answers with tokens.
type SessionOutput struct{ Body Session }

// MessageOutput answers with a [Message].
type MessageOutput struct{ Body Message }

// Message is an answer for people.
type Message struct {
	Message string `json:"message"`
}

// HandleLogin is the operation for [Authenticator.Login].
func (d *Authenticator) HandleLogin(ctx context.Context, in *LoginInput) (*SessionOutput, error) {
	session, err := d.Login(ctx, in.Body.Email, in.Body.Password)
	return &SessionOutput{session}, err
}

// HandleRefresh is the operation for [Authenticator.Refresh].
func (d *Authenticator) HandleRefresh(ctx context.Context, in *RefreshInput) (*SessionOutput, error) {
	session, err := d.Refresh(ctx, in.Body.RefreshToken)
	return &SessionOutput{session}, err
}

// HandleForgotPassword is the operation for [Authenticator.RequestPasswordReset]. It answers the same for every address.
func (d *Authenticator) HandleForgotPassword(ctx context.Context, in *ForgotPasswordInput) (*MessageOutput, error) {
	var wrong rest.FieldErrors
	wrong.CheckEmail(&in.Body.Email, "body.email")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return &MessageOutput{Message{"If the e-mail is registered, a reset link was sent"}}, d.RequestPasswordReset(ctx, in.Body.Email)
}

// HandleResetPassword is the operation for [Authenticator.SetPassword].
func (d *Authenticator) HandleResetPassword(ctx context.Context, in *ResetPasswordInput) (*MessageOutput, error) {
	password := in.Body.NewPassword
	if password == "" {
		password = in.Body.Password
	}
	if password == "" {
		return nil, hub.Invalid("body.new_password", "is required")
	}
	return &MessageOutput{Message{"Password updated"}}, d.SetPassword(ctx, in.Body.Token, password)
}

// Authenticate tells who has an access token: find gives the user of a login,
// [pgx.ErrNoRows] where it has ended. [hub.ErrUnauthorized] for a token that is not good.
func (d *Authenticator) Authenticate(ctx context.Context, token string, find func(ctx context.Context, user, login uuid.UUID) (module.Caller, error)) (module.Caller, error) {
	refused := hub.Errorf(hub.ErrUnauthorized, "invalid_token", "A valid access token is needed: log in, or refresh it.")
	user, login, ok := d.host.Credentials.VerifyAccessToken(token)
	if !ok {
		return module.Caller{}, refused
	}
	who, err := find(ctx, user, login)
	if errors.Is(err, pgx.ErrNoRows) {
		return module.Caller{}, refused
	}
	return who, dberr.Wrap("loading the user", err)
}
