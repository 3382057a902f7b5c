package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
)

// Row is a row of the table as tests see it.
type Row struct {
	Method, Path, Action, Scope  string
	Public, AdminsOnly, KeysOnly bool
	Status                       int
}

// Rows gives the table.
func (a *API) Rows() []Row {
	list := make([]Row, len(a.rows))
	for i, row := range a.rows {
		list[i] = Row{
			Method: row.method, Path: row.path, Action: row.action, Scope: row.scope, Status: row.status,
			Public: row.allow == anyone, AdminsOnly: row.allow == admins, KeysOnly: row.allow == keysOnly,
		}
	}
	return list
}

// AddRaw binds a row served by a fiber handler of its own.
func (a *API) AddRaw(app *fiber.App, method, path, action, scope string, handler fiber.Handler) {
	row := route{method: method, path: path, allow: keysOnly, scope: scope, status: 202, action: action, summary: "Raw"}
	place := mount{api: a.huma, app: app, document: a.documentOnly, guard: a.guard}
	raw[struct{}, pingOutput](handler)(place, row, a.operation(row))
}

// Operation is what the OpenAPI document says of a row.
func (a *API) Operation(row Row) *huma.Operation {
	item := a.huma.OpenAPI().Paths[row.Path]
	return map[string]*huma.Operation{"get": item.Get, "post": item.Post, "put": item.Put, "delete": item.Delete}[strings.ToLower(row.Method)]
}

// Schemas are the schemas of the OpenAPI document.
func (a *API) Schemas() huma.Registry { return a.huma.OpenAPI().Components.Schemas }
