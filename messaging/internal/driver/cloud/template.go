package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

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

// refusals are the codes of messages by the API's errors of templates.
var refusals = map[int]string{
	132000: "template_parameter_count",
	132001: "template_not_found",
	132005: "template_too_long",
	132007: "template_policy",
	132012: "template_parameter_format",
	132015: "template_paused",
	132016: "template_disabled",
	132018: "template_parameter_format",
}

// codeOf returns the code of a message that failed with an error of the API.
func codeOf(apiError int) string {
	if code, ok := refusals[apiError]; ok {
		return code
	}
	return strconv.Itoa(apiError)
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
	var answer struct {
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
	if err := d.call(ctx, http.MethodGet, path, settings, nil, &answer); err != nil {
		return nil, "", mapError(err)
	}
	for _, t := range answer.Data {
		templates = append(templates, driver.NetworkTemplate{Name: t.Name, Language: t.Language, Status: t.Status, Category: t.Category, Components: t.Components})
	}
	if answer.Paging.Next != "" {
		next = answer.Paging.Cursors.After
	}
	return templates, next, nil
}
