package api_test

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/api"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module"
)

func TestDevelopersReadMail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, to := range []string{"bia@example.com", "caio@example.com", "bia@example.com"} {
		require.NoError(t, pgx.BeginFunc(t.Context(), b.db, func(tx pgx.Tx) error {
			return b.mail.For("scheduling").Send(t.Context(), tx, module.Email{TenantID: uuid.New(), To: to, Subject: "To " + to, Text: "Text\n"})
		}))
	}
	b.refused(401, "unauthorized", "GET", "/dev/mail", "", "")
	b.refused(403, "admin_only", "GET", "/dev/mail", b.support, "") // it has links that set a password
	require.Len(t, items(b.ok(200, "GET", "/dev/mail", b.admin, "")), 3)
	page := b.ok(200, "GET", "/dev/mail?to=bia%40example.com&limit=1", b.admin, "")
	list := items(page)
	require.Len(t, list, 1)
	for _, name := range []string{"created_at", "id"} {
		require.NotEmpty(t, list[0][name])
		delete(list[0], name)
	}
	require.Equal(t, map[string]any{"to": "bia@example.com", "subject": "To bia@example.com", "text": "Text\n", "html": ""}, list[0])
	page = b.ok(200, "GET", "/dev/mail?to=bia%40example.com&limit=1&cursor="+page["next_cursor"].(string), b.admin, "")
	require.Len(t, items(page), 1)
	require.Nil(t, page["next_cursor"])
	require.Empty(t, items(b.ok(200, "GET", "/dev/mail?to=bia", b.admin, "")))
}

// What is there for developers is neither served nor documented without an outbox.
func TestProductionHasNoMailToRead(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	app := fiber.New(fiber.Config{DisableStartupMessage: true, ErrorHandler: httpx.ErrorHandler(logger)})
	httpx.AnswerUnknownMethods(app)
	production, err := api.New(app, api.Deps{Log: logger})
	require.NoError(t, err)
	document, err := production.OpenAPI()
	require.NoError(t, err)
	require.NotContains(t, string(document), "/dev/mail")
	require.NotContains(t, string(document), `"name": "dev"`)
	response, err := app.Test(httptest.NewRequest("GET", "/api/v1/dev/mail?to=bia%40example.com", nil))
	require.NoError(t, err)
	require.Equal(t, 404, response.StatusCode)
	require.NoError(t, response.Body.Close())
}
