package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/httpx"
)

// Operator is a person at the console.
type Operator struct {
	ID        uuid.UUID `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Email     string    `json:"email" doc:"Address to log in with" example:"ops@example.com"`
	Name      string    `json:"name" doc:"Display name" example:"Ada"`
	Role      string    `json:"role" enum:"admin,support" doc:"admin: everything; support: reads, retries and replays"`
	Disabled  bool      `json:"disabled" doc:"A disabled operator cannot log in, and every login has ended"`
	CreatedAt time.Time `json:"created_at" doc:"When it was made"`
	UpdatedAt time.Time `json:"updated_at" doc:"When it was last changed"`
}

type operatorOutput struct{ Body Operator }

type createOperatorInput struct {
	Body struct {
		Email    string `json:"email" format:"email" maxLength:"254" doc:"Address to log in with" example:"ops@example.com"`
		Name     string `json:"name" minLength:"1" maxLength:"120" doc:"Display name" example:"Ada"`
		Role     string `json:"role" enum:"admin,support" doc:"admin: everything; support: reads, retries and replays"`
		Password string `json:"password" minLength:"10" maxLength:"200" doc:"Secret to log in with" example:"correct horse battery staple"`
	} `nameHint:"OperatorCreate"`
}

type updateOperatorInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the operator"`
	Body struct {
		Email    string `json:"email" format:"email" maxLength:"254" doc:"Address to log in with" example:"ops@example.com"`
		Name     string `json:"name" minLength:"1" maxLength:"120" doc:"Display name" example:"Ada"`
		Role     string `json:"role" enum:"admin,support" doc:"admin: everything; support: reads, retries and replays"`
		Password string `json:"password,omitempty" minLength:"10" maxLength:"200" doc:"A new password; absent keeps the old one. A new one ends every login of the operator"`
		Disabled *bool  `json:"disabled,omitempty" doc:"Absent keeps it as it is"`
	} `nameHint:"OperatorUpdate"`
}

func (a *API) listOperators(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[Operator] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Auth.List(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, operatorOf, func(last auth.Operator) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[Operator] }{page}, nil
}

func (a *API) createOperator(ctx context.Context, in *createOperatorInput) (*operatorOutput, error) {
	operator, err := a.deps.Auth.Create(ctx, auth.Draft{Email: in.Body.Email, Name: in.Body.Name, Role: in.Body.Role, Password: in.Body.Password})
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, operator.ID, uuid.Nil)
	return &operatorOutput{operatorOf(operator)}, nil
}

func (a *API) updateOperator(ctx context.Context, in *updateOperatorInput) (*operatorOutput, error) {
	operator, err := a.deps.Auth.Update(ctx, in.ID, auth.Change{
		Email: in.Body.Email, Name: in.Body.Name, Role: in.Body.Role, Password: in.Body.Password, Disabled: in.Body.Disabled,
	})
	if err != nil {
		return nil, err
	}
	return &operatorOutput{operatorOf(operator)}, nil
}

func (a *API) deleteOperator(ctx context.Context, in *idPath) (*none, error) {
	return nil, a.deps.Auth.Delete(ctx, in.ID)
}

func operatorOf(o auth.Operator) Operator {
	return Operator{ID: o.ID, Email: o.Email, Name: o.Name, Role: o.Role, Disabled: o.Disabled, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt}
}
