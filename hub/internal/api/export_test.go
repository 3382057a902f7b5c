package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module/rest"
)

// Row is a row of the table as tests see it.
type Row struct {
	Method, Path, Action, Scope  string
	Public, AdminsOnly, KeysOnly bool
	Status                       int
}

// Rows returns the table.
func (a *API) Rows() []Row {
	list := make([]Row, len(a.rows))
	for i, row := range a.rows {
		accepted := row.Access.Credentials()
		list[i] = Row{
			Method: row.Method, Path: row.Path, Action: row.ID, Scope: strings.Join(accepted.Scopes, " "), Status: row.Status,
			Public: accepted.None, AdminsOnly: accepted.Admin, KeysOnly: accepted.Key && !accepted.Bearer,
		}
	}
	return list
}

// AddRaw binds a row served by a fiber handler of its own.
func (a *API) AddRaw(path, action, scope string, handler fiber.Handler) {
	a.mount(rest.Post(path, rest.Key(scope), 202, action, "Raw", raw[struct{}, pingOutput](a, handler)))
}

// Operation returns the operation of a row in the OpenAPI document.
func (a *API) Operation(row Row) *huma.Operation {
	item := a.huma.OpenAPI().Paths[row.Path]
	return map[string]*huma.Operation{"get": item.Get, "post": item.Post, "put": item.Put, "delete": item.Delete}[strings.ToLower(row.Method)]
}

// Schemas returns the schemas of the OpenAPI document.
func (a *API) Schemas() huma.Registry { return a.huma.OpenAPI().Components.Schemas }
