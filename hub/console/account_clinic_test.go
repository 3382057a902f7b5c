package console_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
)

const eventually, tick = 60 * time.Second, 50 * time.Millisecond

// tenantOf returns the tenant of the only account of a product.
func (c *console) tenantOf(product string) string {
	c.t.Helper()
	return c.ok(200, "GET", "/tenants?product="+product, nil)["items"].([]any)[0].(object)["id"].(string)
}

// link connects the accounts of two products and returns the integration of the first.
func (c *console) link(product, peer string) string {
	c.t.Helper()
	tenant := c.tenantOf(product)
	linked := c.ok(200, "POST", "/integrations/link", object{"tenant_id": tenant, "peer_tenant_id": c.tenantOf(peer)})["integrations"].([]any)
	for _, side := range linked {
		if side.(object)["tenant_id"] == tenant {
			return side.(object)["id"].(string)
		}
	}
	c.t.Fatalf("no integration of %s", product)
	return ""
}

// items returns the entries of a list.
func (a *account) items(path string) []any {
	a.console.t.Helper()
	return a.ok(200, "GET", path, nil)["items"].([]any)
}

// "Deletion requests and their acknowledgements": one product acknowledges by itself, a paused
// one is acknowledged for by typing its name.
func TestDeletionRequestsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	_, clinic, _ := startAccounts(t)
	c := clinic.console
	c.link("clinic", "messaging")
	paused := c.link("clinic", "scheduling")
	c.ok(200, "POST", "/integrations/"+paused+"/disable", nil)
	request := func(name string) string {
		patient := clinic.ok(201, "POST", "/api/v1/patients", object{"name": name, "phone": "+5511977771111"})["id"].(string)
		return clinic.ok(202, "POST", "/api/v1/patients/"+patient+"/deletion-request", nil)["id"].(string)
	}
	id := request("Zuleica")
	path := "/api/v1/deletion-requests/"
	require.Eventually(t, func() bool { return clinic.ok(200, "GET", path+id, nil)["status"] == "needs_attention" }, eventually, tick)
	// The connection of a product that may have the next patient has ended.
	patient := clinic.ok(201, "POST", "/api/v1/patients", object{"name": "Quintino", "phone": "+5511977772222"})["id"].(string)
	c.ok(200, "DELETE", "/integrations/"+paused, nil)
	ended := clinic.ok(202, "POST", "/api/v1/patients/"+patient+"/deletion-request", nil)["id"].(string)
	visited := clinic.visited()
	visited["deletion"], visited["ended"] = id, ended
	hubtest.RunInBrowser(t, "hub/console/browser/account-deletions.mjs", visited)
	done := clinic.ok(200, "GET", path+id, nil)
	require.Equal(t, "completed", done["status"])
	for _, peer := range done["peers"].([]any) {
		if peer.(object)["product"] == "scheduling" {
			require.Equal(t, "By telephone", peer.(object)["note"])
			require.NotNil(t, peer.(object)["acknowledged_by"])
		} else {
			require.Nil(t, peer.(object)["acknowledged_by"], "it accepted the event")
		}
	}
}

// peer is a product elsewhere that sends an account signed events.
type peer struct {
	account              *account
	product, key, secret string
}

// registerPeer connects a product elsewhere with the account.
func (a *account) registerPeer(product string) *peer {
	a.console.t.Helper()
	key := a.ok(200, "POST", "/api/v1/integrations/api-keys", object{})["api_key"].(string)
	response, text := a.console.call("POST", "/"+a.product+"/api/v1/integrations/webhook/register", object{"webhook_url": "http://127.0.0.1:9/hook", "product": product}, "X-Integration-Key", key)
	require.Equal(a.console.t, 200, response.StatusCode, text)
	return &peer{a, product, key, a.console.parse(text)["webhook_secret"].(string)}
}

// send delivers an event, which the account takes.
func (p *peer) send(eventType string, data object) {
	c := p.account.console
	c.t.Helper()
	event := object{"id": hub.NewEventID(), "product": p.product, "event_type": eventType, "timestamp": time.Now().UTC().Format(time.RFC3339), "data": data}
	body, err := json.Marshal(event)
	require.NoError(c.t, err)
	mac := hmac.New(sha256.New, []byte(p.secret))
	mac.Write(body)
	response, text := c.call("POST", "/"+p.account.product+"/api/v1/integrations/webhook", json.RawMessage(body), "X-Integration-Key", p.key, "X-Webhook-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	require.Equal(c.t, 200, response.StatusCode, text)
}

// "The clinic's inbox": events that matched no patient, linked and dismissed.
func TestInboxInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	_, clinic, _ := startAccounts(t)
	clinic.ok(200, "PUT", "/api/v1/clinic", object{"timezone": "America/Manaus"})
	clinic.registerPeer("scheduling").send("appointment.created", object{"client_phone": "+5511955550009", "service": "Cleaning", "professional": "Dr. Lima", "datetime": "2026-03-02T12:00:00Z"})
	peer := clinic.registerPeer("messaging")
	for i, message := range [][3]string{
		{"+5511955550001", "Ana", "Is the doctor there tomorrow?"}, {"+5511955550001", "Ana", "I have a question"},
		{"+5511955550002", "Bruno", "Please call me"}, {"+5511955550003", "Carla", "Buy cheap watches"},
	} {
		peer.send("message.received", object{"phone": message[0], "name": message[1], "body": message[2], "ticket_id": strconv.Itoa(i)})
	}
	open := func(text string) bool {
		return strings.Contains(fmt.Sprint(clinic.items("/api/v1/integrations/inbox?per_page=100")), text)
	}
	require.True(t, open("cheap watches"))
	clinic.ok(201, "POST", "/api/v1/patients", object{"name": "Ana Souza", "phone": "+5511955550001", "birth_date": "1990-05-17", "cpf": "52998224725"})
	clinic.ok(201, "POST", "/api/v1/patients", object{"name": "Bruno Lima", "phone": "+5511944440000"})
	hubtest.RunInBrowser(t, "hub/console/browser/account-inbox.mjs", clinic.visited())
	require.False(t, open("Is the doctor there"))
	require.False(t, open("I have a question"), "the same sender's entry follows")
	require.False(t, open("Please call me"))
	require.Len(t, clinic.items("/api/v1/integrations/inbox?status=linked&per_page=100"), 3)
	require.Len(t, clinic.items("/api/v1/integrations/inbox?status=dismissed&per_page=100"), 1)
}

// "Imports with preview": checked, confirmed, undone, and a large file never read by the page.
func TestImportsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	_, clinic, _ := startAccounts(t)
	clinic.ok(201, "POST", "/api/v1/patients", object{"name": "Ana Souza", "phone": "+5511955550001", "cpf": "52998224725"})
	var table strings.Builder
	table.WriteString("external_id,name,phone,cpf,birth_date,favourite colour\n")
	table.WriteString("1,Ana Souza,11955550001,529.982.247-25,1990-05-17,blue\n") // changes her
	table.WriteString("2,Bruno Lima,11944440000,,1980-01-31,red\n")
	table.WriteString("3,Carla Dias,12,,1975-12-02,green\n") // her number is no number
	table.WriteString("4,,11933330000,,1975-12-02,green\n")  // has no name
	dir := t.TempDir()
	patients, large := filepath.Join(dir, "patients.csv"), filepath.Join(dir, "large.csv")
	require.NoError(t, os.WriteFile(patients, []byte(table.String()), 0o600))
	require.NoError(t, os.WriteFile(large, append([]byte("name\n"), bytes.Repeat([]byte("Ana Souza\n"), 2_000_000)...), 0o600))
	visited := clinic.visited()
	visited["patients"], visited["large"] = patients, large
	hubtest.RunInBrowser(t, "hub/console/browser/account-imports.mjs", visited)
	imports := clinic.items("/api/v1/imports?per_page=100")
	var undone int
	for _, item := range imports {
		if item.(object)["undo"] != nil {
			undone++
		}
	}
	require.Equal(t, 1, undone)
	require.Len(t, clinic.items("/api/v1/patients?per_page=100"), 1, "the patient that was there before")
}
