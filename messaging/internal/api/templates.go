package api

import (
	"context"
	"encoding/json"
	"errors"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// checkTemplate checks the template of a request; nil stands for none.
func checkTemplate(errs *rest.FieldErrors, template *chat.Template, hasFile bool) {
	if template == nil {
		return
	}
	path, problem := template.Problem()
	errs.Check(problem == "", "body.template"+path, problem)
	errs.Check(!hasFile, "body.template", "cannot have a file beside it: files of templates are parameters of the header")
}

// NetworkTemplate is a template that the network has approved for a connection.
type NetworkTemplate struct {
	Name       string           `json:"name" doc:"Name of the template" example:"appointment_reminder"`
	Language   string           `json:"language" doc:"Its language code" example:"pt_BR"`
	Status     string           `json:"status" doc:"Its state at the network" example:"APPROVED"`
	Category   string           `json:"category" doc:"What it is for" example:"UTILITY"`
	Components []map[string]any `json:"components" nullable:"false" doc:"Its parts with their texts and variables, as the network describes them"`
}

// TemplateList is a page of a connection's templates.
type TemplateList struct {
	Records []NetworkTemplate `json:"records" nullable:"false" doc:"The page; the simulated network has none, and accepts any template"`
	Next    *string           `json:"next" doc:"The parameter after for the next page; null: this is the last one"`
}

type listTemplatesInput struct {
	IDParam
	Name  string `query:"name" maxLength:"512" doc:"Only the templates of this name" example:"appointment_reminder"`
	After string `query:"after" maxLength:"1000" doc:"next of the page before"`
}

// listTemplates asks the network: nothing is stored here.
func (a *API) listTemplates(ctx context.Context, in *listTemplatesInput) (*struct{ Body TemplateList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.requireConnection(ctx, user.scope, in.ID)
	if err != nil {
		return nil, err
	}
	if err := a.outbound.CheckTemplates(connection); err != nil {
		return nil, err
	}
	network, err := a.drivers.ByName(connection.Driver)
	if err != nil {
		return nil, err
	}
	lister, ok := network.(driver.TemplateLister)
	if !ok {
		return nil, refused("template_unsupported", "The network of this connection does not list its templates.")
	}
	opened, err := a.store.DriverConnection(connection)
	if err != nil {
		return nil, err
	}
	templates, next, err := lister.Templates(ctx, opened, driver.TemplatePage{Name: in.Name, After: in.After})
	if err != nil {
		return nil, mapNetworkError(err)
	}
	out := &struct{ Body TemplateList }{TemplateList{Records: make([]NetworkTemplate, len(templates))}}
	for i, t := range templates {
		out.Body.Records[i] = NetworkTemplate{Name: t.Name, Language: t.Language, Status: t.Status, Category: t.Category, Components: []map[string]any{}}
		if len(t.Components) == 0 {
			continue
		}
		if err := json.Unmarshal(t.Components, &out.Body.Records[i].Components); err != nil {
			return nil, mapNetworkError(err)
		}
	}
	if next != "" {
		out.Body.Next = &next
	}
	return out, nil
}

// mapNetworkError returns the error for callers of asking a network.
func mapNetworkError(err error) error {
	switch {
	case errors.Is(err, driver.ErrNotConnected):
		return refused("wapp_not_initialized", "The network does not accept the connection's account: check its access token.")
	case errors.Is(err, driver.ErrRefused):
		return refused("template_list_refused", "The network does not list the account's templates: check its wabaId, and what its access token may do.")
	}
	return hub.Errorf(hub.ErrUnavailable, "network_unavailable", "The network does not respond; try again.").WithCause(err)
}
