package api

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/auth"
)

type loginInput struct {
	Body struct {
		Email    string `json:"email" minLength:"1" maxLength:"254" example:"ops@example.com" doc:"Address of the operator"`
		Password string `json:"password" minLength:"1" maxLength:"200" example:"correct horse battery staple" doc:"Secret of the operator"`
	} `nameHint:"Login"`
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refresh_token" minLength:"1" maxLength:"4096" doc:"The newest refresh token of this login"`
	} `nameHint:"Refresh"`
}

type logoutInput struct {
	Body *struct {
		RefreshToken string `json:"refresh_token,omitempty" maxLength:"4096" doc:"Ends the login of this token too; the one of the access token is ended in any case"`
	} `nameHint:"Logout"`
}

type sessionOutput struct{ Body Session }

// Session is the answer to a login.
type Session struct {
	AccessToken  string   `json:"access_token" doc:"Send it as Authorization: Bearer"`
	RefreshToken string   `json:"refresh_token" doc:"Good for one use"`
	TokenType    string   `json:"token_type" doc:"Always Bearer" example:"Bearer"`
	ExpiresIn    int      `json:"expires_in" doc:"Seconds until the access token expires" example:"1800"`
	Operator     Identity `json:"operator" doc:"Who is logged in"`
}

// Identity is the operator who is logged in.
type Identity struct {
	ID    uuid.UUID `json:"id" format:"uuid" doc:"All zeros for the local command line"`
	Email string    `json:"email" doc:"Address to log in with" example:"ops@example.com"`
	Name  string    `json:"name" doc:"Display name" example:"Ada"`
	Role  string    `json:"role" enum:"admin,support" doc:"admin: everything; support: reads, retries and replays"`
}

func (a *API) login(ctx context.Context, in *loginInput) (*sessionOutput, error) {
	info := requestInfoOf(ctx)
	session, err := a.deps.Auth.Login(ctx, in.Body.Email, in.Body.Password, info.clientIP)
	if err != nil {
		a.noteFailedLogin(ctx, in.Body.Email, err)
		return nil, err
	}
	info.operator = &session.Operator
	return sessionOf(session), nil
}

// noteFailedLogin sets what the audit log records of a login with a wrong password.
func (a *API) noteFailedLogin(ctx context.Context, email string, err error) {
	if !errors.Is(err, hub.ErrUnauthorized) {
		return
	}
	// Wrong passwords are counted by account: their limit bounds the accounts that an
	// address can try. The audit log names the account only if it exists: people type
	// passwords into the wrong field.
	info := requestInfoOf(ctx)
	info.attempt = a.deps.Auth.AttemptHash(email, info.clientIP)
	if operator, exists := a.deps.Auth.Account(ctx, email); exists {
		setAuditResource(ctx, operator.ID, uuid.Nil)
	}
}

func (a *API) refresh(ctx context.Context, in *refreshInput) (*sessionOutput, error) {
	session, err := a.deps.Auth.Refresh(ctx, in.Body.RefreshToken)
	if err != nil {
		return nil, err
	}
	requestInfoOf(ctx).operator = &session.Operator
	return sessionOf(session), nil
}

func (a *API) logout(ctx context.Context, in *logoutInput) (*none, error) {
	refreshToken := ""
	if in.Body != nil {
		refreshToken = in.Body.RefreshToken
	}
	return nil, a.endLogin(ctx, refreshToken)
}

func (a *API) me(ctx context.Context, _ *struct{}) (*struct{ Body Identity }, error) {
	return &struct{ Body Identity }{identityOf(*requestInfoOf(ctx).operator)}, nil
}

func sessionOf(session auth.Session) *sessionOutput {
	return &sessionOutput{Body: Session{
		AccessToken: session.AccessToken, RefreshToken: session.RefreshToken, TokenType: "Bearer",
		ExpiresIn: int(session.ExpiresIn.Seconds()), Operator: identityOf(session.Operator),
	}}
}

func identityOf(operator auth.Operator) Identity {
	return Identity{ID: operator.ID, Email: operator.Email, Name: operator.Name, Role: operator.Role}
}
