package accounts

import (
	"context"
	"errors"
	"strings"

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
		Email    string `json:"email" maxLength:"254" doc:"E-mail address of the user" example:"bia@example.com"`
		Password string `json:"password" maxLength:"1000" doc:"Password of the user"`
	} `nameHint:"Login"`
}

// RefreshInput is a request for new tokens.
type RefreshInput struct {
	Body struct {
		RefreshToken string `json:"refresh_token" maxLength:"4096" doc:"The one of the latest login or refresh; it works once"`
	} `nameHint:"Refresh"`
}

// ForgotPasswordInput is a request for a reset link.
type ForgotPasswordInput struct {
	Body struct {
		Email string `json:"email" maxLength:"254" doc:"E-mail address of the user" example:"bia@example.com"`
	} `nameHint:"ForgotPassword"`
}

// ResetPasswordInput is a new password with the token of a link.
type ResetPasswordInput struct {
	Body struct {
		Token       string `json:"token" maxLength:"200" doc:"Secret from the link in the e-mail"`
		NewPassword string `json:"new_password,omitempty" minLength:"8" maxLength:"128" doc:"Secret to log in with from now on"`
		Password    string `json:"password,omitempty" minLength:"8" maxLength:"128" doc:"The same as new_password"`
	} `nameHint:"ResetPassword"`
}

// SessionOutput is a response with tokens.
type SessionOutput struct{ Body Session }

// MessageOutput is a response with a [Message].
type MessageOutput struct{ Body Message }

// Message is a response for people.
type Message struct {
	Message string `json:"message" doc:"Text for people"`
}

// HandleLogin is the operation for [Authenticator.Login].
func (a *Authenticator) HandleLogin(ctx context.Context, in *LoginInput) (*SessionOutput, error) {
	session, err := a.Login(ctx, in.Body.Email, in.Body.Password)
	return &SessionOutput{session}, err
}

// HandleRefresh is the operation for [Authenticator.Refresh].
func (a *Authenticator) HandleRefresh(ctx context.Context, in *RefreshInput) (*SessionOutput, error) {
	session, err := a.Refresh(ctx, in.Body.RefreshToken)
	return &SessionOutput{session}, err
}

// HandleForgotPassword is the operation for [Authenticator.RequestPasswordReset]. The response is the same for
// every address.
func (a *Authenticator) HandleForgotPassword(ctx context.Context, in *ForgotPasswordInput) (*MessageOutput, error) {
	var errs rest.FieldErrors
	errs.CheckEmail(&in.Body.Email, "body.email")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return &MessageOutput{Message{"If the e-mail is registered, a reset link was sent"}}, a.RequestPasswordReset(ctx, in.Body.Email)
}

// HandleResetPassword is the operation for [Authenticator.SetPassword].
func (a *Authenticator) HandleResetPassword(ctx context.Context, in *ResetPasswordInput) (*MessageOutput, error) {
	password := in.Body.NewPassword
	if password == "" {
		password = in.Body.Password
	}
	if password == "" {
		return nil, hub.Invalid("body.new_password", "is required")
	}
	return &MessageOutput{Message{"Password updated"}}, a.SetPassword(ctx, in.Body.Token, password)
}

// LogoutInput is a request to end the login of its access token.
type LogoutInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
}

// HandleLogout is the operation for [Authenticator.Logout].
func (a *Authenticator) HandleLogout(ctx context.Context, in *LogoutInput) (*MessageOutput, error) {
	_, err := a.Logout(ctx, in.Authorization)
	return &MessageOutput{Message{"Logged out"}}, err
}

// Logout ends the login of an access token, with its refresh token, and returns the user.
// authorization is the header of that name.
func (a *Authenticator) Logout(ctx context.Context, authorization string) (userID uuid.UUID, err error) {
	_, token, _ := strings.Cut(authorization, " ")
	userID, loginID, ok := a.host.Credentials.VerifyAccessToken(strings.TrimSpace(token))
	if !ok {
		return uuid.Nil, module.InvalidTokenError()
	}
	return userID, dberr.Wrap("logging out", a.RevokeLogin(ctx, userID, loginID))
}

// Authenticate returns the user of an access token, or [hub.ErrUnauthorized] for an
// invalid token. find returns the user of a login, or [pgx.ErrNoRows] if it was revoked.
func (a *Authenticator) Authenticate(ctx context.Context, token string, find func(ctx context.Context, userID, loginID uuid.UUID) (module.Caller, error)) (module.Caller, error) {
	userID, loginID, ok := a.host.Credentials.VerifyAccessToken(token)
	if !ok {
		return module.Caller{}, module.InvalidTokenError()
	}
	caller, err := find(ctx, userID, loginID)
	if errors.Is(err, pgx.ErrNoRows) {
		return module.Caller{}, module.InvalidTokenError()
	}
	return caller, dberr.Wrap("loading the user", err)
}
