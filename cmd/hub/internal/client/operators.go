package client

import (
	"context"
	"net/http"
	"net/url"
)

const operatorsPath = "/api/v1/operators"

// OperatorInput makes or replaces an operator.
type OperatorInput struct {
	Email    string `json:"email"`
	Name     string `json:"name"`
	Role     string `json:"role"`
	Password string `json:"password,omitempty"` // of an update: "" keeps it
	Disabled *bool  `json:"disabled,omitempty"` // only of an update; nil keeps it
}

// Operators lists operators.
func (c *Client) Operators(ctx context.Context, page PageQuery) (Reply[Page[Operator]], error) {
	q := url.Values{}
	page.addTo(q)
	return send[Page[Operator]](ctx, c, get(operatorsPath, q))
}

// CreateOperator makes an operator.
func (c *Client) CreateOperator(ctx context.Context, in OperatorInput) (Reply[Operator], error) {
	return send[Operator](ctx, c, post(operatorsPath, in))
}

// UpdateOperator replaces what can be changed of an operator.
func (c *Client) UpdateOperator(ctx context.Context, operatorID string, in OperatorInput) (Reply[Operator], error) {
	return send[Operator](ctx, c, call{method: http.MethodPut, path: operatorsPath + "/" + id(operatorID), body: in})
}

// DeleteOperator deletes an operator.
func (c *Client) DeleteOperator(ctx context.Context, operatorID string) error {
	return discard(send[Empty](ctx, c, call{method: http.MethodDelete, path: operatorsPath + "/" + id(operatorID)}))
}
