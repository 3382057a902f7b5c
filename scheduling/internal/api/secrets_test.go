package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// What nobody may read stands in no log, no metric and no answer to anybody else.
func TestSecretsAreNotReturned(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	const canary, cpf = "canary-of-a-password", "111.444.777-35"
	org.As("").OK(201, "POST", "/auth/register", object{"org_name": "C", "org_slug": "canary-" + org.Slug, "name": "C", "email": "c-" + org.Email, "password": canary})
	session := org.As("").OK(200, "POST", "/auth/login", object{"email": "c-" + org.Email, "password": canary})
	key := org.OK(200, "POST", "/integrations/api-keys", nil)["api_key"].(string)
	org.OK(200, "GET", "/auth/me", nil)
	org.As("").OK(200, "POST", "/auth/forgot-password", object{"email": org.Email})
	reset := org.ResetToken(org.Email)
	client := org.OK(201, "POST", "/clients", object{"name": "Rui", "phone": "+5511911112222", "cpf": cpf})
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	integration := org.LinkPeer()
	secret := org.OK(200, "POST", "/integrations/"+integration+"/rotate-secret", nil)["webhook_secret"].(string)
	secrets := map[string]string{
		"password": canary, "access token": session["access_token"].(string), "refresh token": session["refresh_token"].(string),
		"key": key, "reset token": reset, "tax id": cpf, "digits of the tax id": strings.NewReplacer(".", "", "-", "").Replace(cpf),
		"cancel token": created["cancel_token"].(string), "webhook secret": secret,
	}
	var answers strings.Builder
	record := func(got answer) { answers.WriteString(got.Text + "\n") }
	// The wrong uses, each where another thing is asked for.
	for name, value := range secrets {
		if name == "access token" || name == "key" {
			record(org.As(value).Call("GET", "/clients/"+uuid.NewString(), nil))
		}
		record(org.As("x-"+value).Call("GET", "/auth/me", nil))
		record(org.As("").Call("POST", "/auth/login", object{"email": value, "password": value}))
		record(org.As("").Call("POST", "/auth/login", object{"email": org.Email, "password": value}))
		record(org.As("").Call("POST", "/auth/refresh", object{"refresh_token": value + "x"}))
		record(org.As("").Call("POST", "/auth/reset-password", object{"token": value + "x", "password": value}))
		record(org.As("").Call("POST", org.PublicPath("/cancel"), object{"cancel_token": value + "x"}))
		record(org.Call("POST", "/clients", object{"name": value, "cpf": []string{value}}))
		record(org.Call("POST", "/clients", object{"name": "", "cpf": value, "birth_date": value}))
		record(org.Call("POST", "/clients", `{"cpf":"`+value+`","cpf":`))
		record(org.Call("GET", "/clients/"+value, nil))
		record(org.Call("GET", "/payments?month="+value, nil))
		record(org.As("").Call("POST", "/integrations/webhook", object{"x": value}, "X-Integration-Key", value, "X-Webhook-Signature", value))
	}
	record(org.Call("GET", "/integrations/webhook-logs", nil))
	record(org.As(org.Hub.CreateKey(org.ID, hub.Live)).Call("GET", "/integrations/search/clients?phone=%2B5511911112222", nil))
	var audit, deliveries json.RawMessage
	org.Hub.CallAPI("GET", "/api/v1/audit?limit=200", nil, &audit)
	org.Hub.CallAPI("GET", "/api/v1/deliveries?limit=200", nil, &deliveries)
	for name, value := range secrets {
		require.NotContains(t, org.Hub.Log(), value, "%s in the log", name)
		require.NotContains(t, schedulingtest.GetPage(t, org.Hub.URL+"/metrics"), value, "%s in the metrics", name)
		require.NotContains(t, answers.String(), value, "%s in an answer", name)
		require.NotContains(t, string(audit)+string(deliveries), value, "%s in the logs of the hub", name)
	}
	require.Equal(t, cpf, org.OK(200, "GET", "/clients/"+client["id"].(string), nil)["cpf"], "its own people see it")
	require.NotContains(t, answers.String(), `"status":5`)
}
