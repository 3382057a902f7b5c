// Command clients calls a running hub with clients that oapi-codegen generated from its
// documents: events are published, and each product gets an account and a person.
// Environment: HUB_URL, HUB_TOKEN (of an administrator).
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"clients/clinic"
	"clients/hub"
	"clients/messaging"
	"clients/scheduling"
)

const (
	email    = "go@example.com"
	password = "correct horse battery staple"
	phone    = "+5511987654321"
)

func main() {
	ctx, base := context.Background(), os.Getenv("HUB_URL")
	callHub(ctx, base, os.Getenv("HUB_TOKEN"))
	callScheduling(ctx, base+"/scheduling")
	callMessaging(ctx, base+"/messaging")
	callClinic(ctx, base+"/clinic")
}

// check ends the program unless a call had the expected status and a body of the document's type.
func check[T any](what string, err error, status func() int, expected int, body *T) *T {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
	if status() != expected || body == nil {
		fmt.Fprintf(os.Stderr, "%s: status %d, not %d\n", what, status(), expected)
		os.Exit(1)
	}
	fmt.Println("go:", what)
	return body
}

// require ends the program unless what holds.
func require(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, "not so: "+what)
		os.Exit(1)
	}
}

func header(name, value string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set(name, value)
		return nil
	}
}

func callHub(ctx context.Context, base, token string) {
	operator, err := hub.NewClientWithResponses(base, hub.WithRequestEditorFn(header("Authorization", "Bearer "+token)))
	require(err == nil, "the address is one")
	product, err := operator.ProductsCreateWithResponse(ctx, hub.ProductsCreateJSONRequestBody{Name: "goshop", Prefix: "gos"})
	check("products.create", err, product.StatusCode, 201, product.JSON201)
	tenant, err := operator.TenantsCreateWithResponse(ctx, hub.TenantsCreateJSONRequestBody{Product: "goshop", Name: "Sun"})
	tenantID := check("tenants.create", err, tenant.StatusCode, 201, tenant.JSON201).Id
	key, err := operator.KeysCreateWithResponse(ctx, hub.KeysCreateJSONRequestBody{TenantId: tenantID})
	apiKey := check("keys.create", err, key.StatusCode, 201, key.JSON201).ApiKey
	url, types := "http://127.0.0.1:9/hook", []string{"order.made"}
	endpoint, err := operator.EndpointsCreateWithResponse(ctx, hub.EndpointsCreateJSONRequestBody{TenantId: &tenantID, Url: url, EventTypes: types})
	check("endpoints.create", err, endpoint.StatusCode, 201, endpoint.JSON201)

	server, err := hub.NewClientWithResponses(base, hub.WithRequestEditorFn(header("X-Integration-Key", apiKey)))
	require(err == nil, "the address is one")
	published, err := server.EventsPublishWithResponse(ctx, &hub.EventsPublishParams{}, hub.EventsPublishJSONRequestBody{EventType: "order.made", Data: map[string]any{"n": 1}})
	event := check("events.publish", err, published.StatusCode, 202, published.JSON202)
	require(event.Deliveries == 1, "the event makes one delivery")
	log, err := operator.DeliveriesListWithResponse(ctx, &hub.DeliveriesListParams{TenantId: &tenantID})
	list := check("deliveries.list", err, log.StatusCode, 200, log.JSON200)
	require(len(list.Items) == 1 && list.Items[0].EventId == event.Id, "the log has it")
}

func callScheduling(ctx context.Context, base string) {
	guest, err := scheduling.NewClientWithResponses(base)
	require(err == nil, "the address is one")
	account, err := guest.AuthRegisterWithResponse(ctx, scheduling.AuthRegisterJSONRequestBody{OrgName: "Sun", OrgSlug: "go-sun", Name: "Ana", Email: email, Password: password})
	token := check("scheduling auth.register", err, account.StatusCode, 201, account.JSON201).AccessToken
	user, _ := scheduling.NewClientWithResponses(base, scheduling.WithRequestEditorFn(header("Authorization", "Bearer "+token)))
	number := phone
	made, err := user.ClientsCreateWithResponse(ctx, &scheduling.ClientsCreateParams{}, scheduling.ClientsCreateJSONRequestBody{Name: "Maria", Phone: &number})
	check("scheduling clients.create", err, made.StatusCode, 201, made.JSON201)
	list, err := user.ClientsListWithResponse(ctx, &scheduling.ClientsListParams{})
	found := check("scheduling clients.list", err, list.StatusCode, 200, list.JSON200)
	require(len(found.Items) == 1 && found.Items[0].Name == "Maria", "the client is listed")
}

func callMessaging(ctx context.Context, base string) {
	guest, err := messaging.NewClientWithResponses(base)
	require(err == nil, "the address is one")
	account, err := guest.AuthSignupWithResponse(ctx, messaging.AuthSignupJSONRequestBody{Name: "Ana", Email: email, Password: password})
	token := check("messaging auth.signup", err, account.StatusCode, 201, account.JSON201).Token
	user, _ := messaging.NewClientWithResponses(base, messaging.WithRequestEditorFn(header("Authorization", "Bearer "+token)))
	made, err := user.ContactsCreateWithResponse(ctx, &messaging.ContactsCreateParams{}, messaging.ContactsCreateJSONRequestBody{Name: "Maria", Number: "5511987654321"})
	check("messaging contacts.create", err, made.StatusCode, 201, made.JSON201)
	list, err := user.ContactsListWithResponse(ctx, &messaging.ContactsListParams{})
	found := check("messaging contacts.list", err, list.StatusCode, 200, list.JSON200)
	require(len(found.Contacts) == 1 && found.Contacts[0].Name == "Maria", "the contact is listed")
	status, err := user.IntegrationsStatusWithResponse(ctx, &messaging.IntegrationsStatusParams{})
	check("messaging integrations.status", err, status.StatusCode, 200, status.JSON200)
}

func callClinic(ctx context.Context, base string) {
	guest, err := clinic.NewClientWithResponses(base)
	require(err == nil, "the address is one")
	account, err := guest.AuthRegisterWithResponse(ctx, clinic.AuthRegisterJSONRequestBody{ClinicName: "Sun", Name: "Ana", Email: email, Password: password})
	token := check("clinic auth.register", err, account.StatusCode, 201, account.JSON201).AccessToken
	user, _ := clinic.NewClientWithResponses(base, clinic.WithRequestEditorFn(header("Authorization", "Bearer "+token)))
	number := phone
	made, err := user.PatientsCreateWithResponse(ctx, &clinic.PatientsCreateParams{}, clinic.PatientsCreateJSONRequestBody{Name: "Maria", Phone: &number})
	check("clinic patients.create", err, made.StatusCode, 201, made.JSON201)
	list, err := user.PatientsListWithResponse(ctx, &clinic.PatientsListParams{})
	found := check("clinic patients.list", err, list.StatusCode, 200, list.JSON200)
	require(len(found.Items) == 1 && found.Items[0].Name == "Maria", "the patient is listed")
}
