package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// templatesPerPage is how many templates the API is asked for at once.
const templatesPerPage = "100"

// template is a template as the API accepts it.
type template struct {
	Name       string                   `json:"name"`
	Language   templateLanguage         `json:"language"`
	Components []chat.TemplateComponent `json:"components,omitempty"`
}

type templateLanguage struct {
	Code string `json:"code"`
}

func toTemplate(t chat.Template) *template {
	return &template{t.Name, templateLanguage{t.Language}, t.Components}
}

var _ driver.TemplateLister = (*Driver)(nil)

// Templates implements [driver.TemplateLister].
func (d *Driver) Templates(ctx context.Context, c driver.Connection, page driver.TemplatePage) (templates []driver.NetworkTemplate, next string, err error) {
	settings, err := ParseSettings(c)
	if err != nil {
		return nil, "", err
	}
	query := url.Values{"fields": {"name,language,status,category,components"}, "status": {"APPROVED"}, "limit": {templatesPerPage}}
	if page.Name != "" {
		query.Set("name", page.Name)
	}
	if page.After != "" {
		query.Set("after", page.After)
	}
	var list struct {
		Data []struct {
			Name       string          `json:"name"`
			Language   string          `json:"language"`
			Status     string          `json:"status"`
			Category   string          `json:"category"`
			Components json.RawMessage `json:"components"`
		} `json:"data"`
		Paging struct {
			Cursors struct {
				After string `json:"after"`
			} `json:"cursors"`
			Next string `json:"next"`
		} `json:"paging"`
	}
	path := "/" + url.PathEscape(settings.WABAID) + "/message_templates?" + query.Encode()
	if err := d.call(ctx, http.MethodGet, path, settings, nil, &list); err != nil {
		return nil, "", mapError(err)
	}
	for _, t := range list.Data {
		templates = append(templates, driver.NetworkTemplate{Name: t.Name, Language: t.Language, Status: t.Status, Category: t.Category, Components: t.Components})
	}
	if list.Paging.Next != "" {
		next = list.Paging.Cursors.After
	}
	return templates, next, nil
}
