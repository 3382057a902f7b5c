package provider_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/payment/provider"
)

// mercadoPago is a stand-in of its payments API as documented: POST /v1/payments
// (X-Idempotency-Key required), GET and PUT /v1/payments/{id}, POST …/refunds.
type mercadoPago struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	keys    map[string]string // idempotency key → answer
	list    map[string]map[string]any
	created int
	refunds int
	paths   []string
	// before answers instead, where it returns true.
	before func(w http.ResponseWriter, r *http.Request, n int) bool
}

const mpToken = "APP_USR-canary-token"

func startMercadoPago(t *testing.T) *mercadoPago {
	t.Helper()
	m := &mercadoPago{t: t, keys: map[string]string{}, list: map[string]map[string]any{}}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func (m *mercadoPago) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.paths = append(m.paths, r.Method+" "+r.URL.Path)
	n := len(m.paths)
	m.mu.Unlock()
	if m.before != nil && m.before(w, r, n) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer "+mpToken {
		mpRefuse(w, 401, "unauthorized", 401)
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/payments"), "/")
	switch {
	case r.Method == "POST" && len(path) == 1:
		m.keyed(w, r, m.create)
	case len(path) < 2 || m.list[path[1]] == nil:
		mpRefuse(w, 404, "Payment not found", 2000)
	case r.Method == "GET" && len(path) == 2:
		mpAnswer(w, 200, m.list[path[1]])
	case r.Method == "PUT" && len(path) == 2:
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) != nil || len(body) != 1 || body["status"] != "cancelled" {
			mpRefuse(w, 400, "Params Error", 1)
			return
		}
		if m.list[path[1]]["status"] != "pending" {
			mpRefuse(w, 400, "The action requested is not valid for the current payment state", 2063)
			return
		}
		m.list[path[1]]["status"], m.list[path[1]]["status_detail"] = "cancelled", "by_collector"
		mpAnswer(w, 200, m.list[path[1]])
	case r.Method == "POST" && len(path) == 3 && path[2] == "refunds":
		m.keyed(w, r, func(w http.ResponseWriter, body map[string]any) { m.refund(w, m.list[path[1]], body) })
	default:
		mpRefuse(w, 405, "method", 0)
	}
}

// keyed answers the same key with the same answer and no second effect.
func (m *mercadoPago) keyed(w http.ResponseWriter, r *http.Request, do func(http.ResponseWriter, map[string]any)) {
	key := r.Header.Get("X-Idempotency-Key")
	if key == "" || r.Header.Get("Content-Type") != "application/json" {
		mpRefuse(w, 400, "Header X-Idempotency-Key can't be null", 4292)
		return
	}
	if answer, again := m.keys[key]; again {
		_, _ = w.Write([]byte(answer))
		return
	}
	var body map[string]any
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if decoder.Decode(&body) != nil {
		mpRefuse(w, 400, "Params Error", 1)
		return
	}
	recorder := httptest.NewRecorder()
	do(recorder, body)
	if recorder.Code < 300 {
		m.keys[key] = recorder.Body.String()
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

var mpDate = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$`)

func (m *mercadoPago) create(w http.ResponseWriter, body map[string]any) {
	known := map[string]bool{"transaction_amount": true, "description": true, "payment_method_id": true, "external_reference": true,
		"notification_url": true, "date_of_expiration": true, "payer": true}
	for name := range body {
		if !known[name] {
			mpRefuse(w, 400, "The name of the following parameters is wrong ["+name+"]", 8)
			return
		}
	}
	payer, _ := body["payer"].(map[string]any)
	expires, _ := body["date_of_expiration"].(string)
	amount, numeric := body["transaction_amount"].(json.Number)
	at, err := time.Parse(time.RFC3339, expires)
	switch {
	case !mpDate.MatchString(expires) || err != nil || time.Until(at) < 30*time.Minute:
		mpRefuse(w, 400, "The following parameters must be valid date and format (yyyy-MM-dd'T'HH:mm:ssz) date_of_expiration", 23)
		return
	case !numeric || body["payment_method_id"] != "pix":
		mpRefuse(w, 400, "Params Error", 1)
		return
	case !strings.Contains(fmt.Sprint(payer["email"]), "@"):
		mpRefuse(w, 400, "Payer email must be a valid email: "+fmt.Sprint(payer["email"]), 4050)
		return
	}
	m.created++
	id := fmt.Sprint(1234567890 + m.created)
	trimmed := strings.TrimSuffix(strings.TrimSuffix(amount.String(), "0"), ".0") // it writes 100.5 and 100
	m.list[id] = map[string]any{
		"id": json.Number(id), "date_created": "2026-05-25T13:01:02.000-03:00", "date_approved": nil, "date_of_expiration": expires,
		"status": "pending", "status_detail": "pending_waiting_transfer", "currency_id": "BRL", "transaction_amount": json.Number(trimmed),
		"transaction_amount_refunded": 0, "payment_method_id": "pix", "payment_type_id": "bank_transfer",
		"external_reference": body["external_reference"], "notification_url": body["notification_url"], "payer": payer,
		"point_of_interaction": map[string]any{"type": "OPENPLATFORM", "transaction_data": map[string]any{
			"qr_code": "00020126580014br.gov.bcb.pix", "qr_code_base64": base64.StdEncoding.EncodeToString([]byte("\x89PNG")),
			"ticket_url": "https://www.mercadopago.com.br/payments/" + id + "/ticket", "transaction_id": nil,
		}},
	}
	mpAnswer(w, 201, m.list[id])
}

func (m *mercadoPago) refund(w http.ResponseWriter, props, body map[string]any) {
	if props["status"] != "approved" {
		mpRefuse(w, 400, "The action requested is not valid for the current payment state", 2063)
		return
	}
	m.refunds++
	props["transaction_amount_refunded"] = body["amount"]
	mpAnswer(w, 201, map[string]any{"id": 1009042015, "payment_id": props["id"], "amount": body["amount"], "status": "approved", "source": []any{}})
}

func mpAnswer(w http.ResponseWriter, code int, body any) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func mpRefuse(w http.ResponseWriter, code int, message string, cause int) {
	mpAnswer(w, code, map[string]any{"message": message, "error": "bad_request", "status": code, "cause": []any{map[string]any{"code": cause, "description": message, "data": nil}}})
}

// set changes a payment as its owner's bank or people at Mercado Pago would.
func (m *mercadoPago) set(id string, fields map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, value := range fields {
		m.list[id][name] = value
	}
}

const mpSecret = "canary-webhook-secret"

func (m *mercadoPago) provider() *provider.MercadoPago {
	return provider.NewMercadoPago(provider.MercadoPagoConfig{
		Token: mpToken, Secret: mpSecret, URL: m.url + "/", Do: &http.Client{Timeout: 300 * time.Millisecond}, Now: time.Now,
	})
}

func anOrder() provider.Order {
	return provider.Order{
		ID: uuid.New(), Amount: 100_50, Currency: "BRL", Description: "Consulta", ExpiresAt: time.Now().Add(2 * time.Hour).Truncate(time.Millisecond),
		Payer: provider.Payer{Name: "Bia da Silva", Email: "bia@example.com", TaxID: "19119119100"},
		Payee: provider.Payee{Name: "Clínica São João", City: "São Paulo"}, NotifyURL: "https://hub.example.com/scheduling/api/v1/payments/webhook/mercadopago",
	}
}

// requireProviderError wants the 502, and nothing secret or personal in it.
func requireProviderError(t *testing.T, err error) {
	t.Helper()
	var hubErr *hub.Error
	require.ErrorAs(t, err, &hubErr)
	require.ErrorIs(t, err, hub.ErrPeer)
	require.Equal(t, provider.CodeProvider, hubErr.Code)
	for _, secret := range []string{"canary", "bia@", "19119119100"} {
		require.NotContains(t, err.Error(), secret)
	}
}

func TestMercadoPagoCollects(t *testing.T) {
	t.Parallel()
	m := startMercadoPago(t)
	client, order := m.provider(), anOrder()
	charge, err := client.Create(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, provider.Charge{
		ID: "1234567891", TxID: "1234567891", Order: order.ID, Status: provider.Pending, Amount: order.Amount, Currency: "BRL", Code: "00020126580014br.gov.bcb.pix",
		QRURL: "https://www.mercadopago.com.br/payments/1234567891/ticket", ExpiresAt: charge.ExpiresAt,
	}, charge)
	require.True(t, charge.ExpiresAt.Equal(order.ExpiresAt))
	sent := m.list[charge.ID]
	require.Equal(t, order.NotifyURL+"?source_news=webhooks", sent["notification_url"])
	require.Equal(t, map[string]any{"email": "bia@example.com", "first_name": "Bia", "last_name": "da Silva",
		"identification": map[string]any{"type": "CPF", "number": "19119119100"}}, sent["payer"])

	m.set(charge.ID, map[string]any{"status": "approved", "status_detail": "accredited", "date_approved": "2026-05-25T13:05:02.000-03:00"})
	charge, err = client.Read(t.Context(), charge.ID)
	require.NoError(t, err)
	require.Equal(t, provider.Paid, charge.Status)
	require.True(t, charge.PaidAt.Equal(time.Date(2026, 5, 25, 16, 5, 2, 0, time.UTC)))
	require.NoError(t, charge.Check(order.ID, order.Amount, order.Currency))
	require.ErrorIs(t, charge.Check(order.ID, order.Amount+1, order.Currency), provider.ErrMismatch)
	require.ErrorIs(t, charge.Check(uuid.New(), order.Amount, order.Currency), provider.ErrMismatch)
	require.ErrorIs(t, charge.Check(order.ID, order.Amount, "USD"), provider.ErrMismatch)

	refund := provider.Refund{ID: uuid.New(), Amount: 30_00}
	require.NoError(t, client.Refund(t.Context(), charge.ID, refund))
	require.NoError(t, client.Refund(t.Context(), charge.ID, refund))
	require.Equal(t, 1, m.refunds, "the same refund once")
	charge, err = client.Read(t.Context(), charge.ID)
	require.NoError(t, err)
	require.EqualValues(t, 30_00, charge.Refunded)
	require.ErrorIs(t, client.Cancel(t.Context(), charge.ID), hub.ErrConflict, "it is paid")
}

func TestMercadoPagoStatuses(t *testing.T) {
	t.Parallel()
	m := startMercadoPago(t)
	client := m.provider()
	charge, err := client.Create(t.Context(), anOrder())
	require.NoError(t, err)
	for status, want := range map[string]provider.Status{
		"pending pending_waiting_transfer": provider.Pending, "in_process x": provider.Pending, "approved accredited": provider.Paid, "in_mediation x": provider.Paid,
		"rejected x": provider.Failed, "cancelled by_collector": provider.Cancelled, "cancelled expired": provider.Expired, "refunded refunded": provider.Refunded,
		"charged_back settled": provider.Refunded,
	} {
		name, detail, _ := strings.Cut(status, " ")
		m.set(charge.ID, map[string]any{"status": name, "status_detail": detail})
		read, err := client.Read(t.Context(), charge.ID)
		require.NoError(t, err)
		require.Equal(t, want, read.Status, status)
	}
	for field, value := range map[string]any{"status": "brand_new", "id": "../me", "transaction_amount": 1.005} {
		good := m.list[charge.ID][field]
		m.set(charge.ID, map[string]any{field: value})
		_, err = client.Read(t.Context(), charge.ID)
		requireProviderError(t, err)
		m.set(charge.ID, map[string]any{field: good})
	}
	m.set(charge.ID, map[string]any{"status": "pending", "payment_method_id": "visa"})
	_, err = client.Read(t.Context(), charge.ID)
	require.ErrorIs(t, err, hub.ErrNotFound, "a payment by card is none of the hub's charges")
	m.set(charge.ID, map[string]any{"payment_method_id": "pix"})
	require.NoError(t, client.Cancel(t.Context(), charge.ID))
	require.ErrorIs(t, client.Refund(t.Context(), charge.ID, provider.Refund{ID: uuid.New(), Amount: 1}), hub.ErrConflict)
	for _, id := range []string{"", "7", "../users/me", "1/refunds", "1%2f2", "1?x=y", strings.Repeat("1", 30)} {
		_, err := client.Read(t.Context(), id)
		require.ErrorIs(t, err, hub.ErrNotFound, id)
		require.ErrorIs(t, client.Cancel(t.Context(), id), hub.ErrNotFound, id)
		require.ErrorIs(t, client.Refund(t.Context(), id, provider.Refund{ID: uuid.New(), Amount: 1}), hub.ErrNotFound, id)
	}
	for _, path := range m.paths {
		require.Regexp(t, `^(GET|PUT|POST) /v1/payments(/[0-9]+(/refunds)?)?$`, path)
	}
}

// A time-out leaves open whether there is a charge; asking again makes no second one.
func TestMercadoPagoRetries(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(m *mercadoPago, w http.ResponseWriter, r *http.Request){
		"done, then silent": func(m *mercadoPago, _ http.ResponseWriter, r *http.Request) {
			body := new(bytes.Buffer)
			_, _ = body.ReadFrom(r.Body)
			copied := r.Clone(context.Background())
			copied.Body = http.NoBody
			m.mu.Lock()
			request := httptest.NewRequest(r.Method, r.URL.Path, body)
			request.Header = r.Header
			m.keyed(httptest.NewRecorder(), request, m.create)
			m.mu.Unlock()
			<-r.Context().Done()
		},
		"hangs up":       func(_ *mercadoPago, _ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"internal error": func(_ *mercadoPago, w http.ResponseWriter, _ *http.Request) { mpRefuse(w, 500, "bia@example.com", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMercadoPago(t)
			always := false
			m.before = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n > 1 && !always {
					return false
				}
				trouble(m, w, r)
				return true
			}
			client, order := m.provider(), anOrder()
			charge, err := client.Create(t.Context(), order)
			require.NoError(t, err)
			require.Equal(t, 1, m.created)
			same, err := client.Create(t.Context(), order)
			require.NoError(t, err)
			require.Equal(t, charge.ID, same.ID)
			require.Equal(t, 1, m.created, "the same order is the same charge")

			always = true
			_, err = client.Create(t.Context(), anOrder())
			requireProviderError(t, err)
			_, err = client.Read(t.Context(), charge.ID)
			requireProviderError(t, err)
		})
	}
}

func TestMercadoPagoInvalidAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"wrong token": func(w http.ResponseWriter, _ *http.Request) { mpRefuse(w, 401, "canary", 401) },
		"refused":     func(w http.ResponseWriter, _ *http.Request) { mpRefuse(w, 400, "bia@example.com is wrong", 4050) },
		"not JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>bia@example.com")) },
		"endless":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 70<<10)) },
		"empty":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) },
		"another order": func(w http.ResponseWriter, _ *http.Request) {
			mpAnswer(w, 201, map[string]any{"id": 1, "status": "pending", "payment_method_id": "pix", "transaction_amount": 100.5, "currency_id": "BRL", "external_reference": uuid.New(),
				"point_of_interaction": map[string]any{"transaction_data": map[string]any{"qr_code": "x"}}})
		},
		"another amount": func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			mpAnswer(w, 201, map[string]any{"id": 1, "status": "pending", "payment_method_id": "pix", "transaction_amount": 1, "currency_id": "BRL", "external_reference": body["external_reference"],
				"point_of_interaction": map[string]any{"transaction_data": map[string]any{"qr_code": "x"}}})
		},
		"no code": func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			mpAnswer(w, 201, map[string]any{"id": 1, "status": "pending", "payment_method_id": "pix", "transaction_amount": 100.5, "currency_id": "BRL", "external_reference": body["external_reference"]})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMercadoPago(t)
			m.before = func(w http.ResponseWriter, r *http.Request, _ int) bool { answer(w, r); return true }
			_, err := m.provider().Create(t.Context(), anOrder())
			requireProviderError(t, err)
		})
	}
	m := startMercadoPago(t)
	for code, change := range map[string]func(*provider.Order){
		"payer_email_required":   func(order *provider.Order) { order.Payer.Email = "" },
		"currency_not_supported": func(order *provider.Order) { order.Currency = "USD" },
		"validation_failed":      func(order *provider.Order) { order.Amount = 0 },
	} {
		order := anOrder()
		change(&order)
		_, err := m.provider().Create(t.Context(), order)
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr)
		require.ErrorIs(t, err, hub.ErrInvalid)
		require.Equal(t, code, hubErr.Code)
	}
	require.Empty(t, m.paths, "nobody was asked")
	short := anOrder()
	short.ExpiresAt = time.Now().Add(5 * time.Minute)
	charge, err := m.provider().Create(t.Context(), short)
	require.NoError(t, err, "it has a shortest life of 30 minutes there")
	require.Equal(t, short.ExpiresAt, charge.ExpiresAt)
}

// mpWebhook is a notice as Mercado Pago documents it.
func mpWebhook(secret, id, requestID, ts, body string) provider.Inbound {
	manifest := ""
	for _, pair := range [][2]string{{"id", strings.ToLower(id)}, {"request-id", requestID}, {"ts", ts}} {
		if pair[1] != "" {
			manifest += pair[0] + ":" + pair[1] + ";"
		}
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(manifest))
	header := http.Header{}
	header.Set("x-signature", "ts="+ts+",v1="+hex.EncodeToString(mac.Sum(nil)))
	if requestID != "" {
		header.Set("x-request-id", requestID)
	}
	return provider.Inbound{Header: header, Query: url.Values{"data.id": {id}, "type": {"payment"}}, Body: []byte(body)}
}

const mpNotice = `{"id":12345,"live_mode":true,"type":"payment","date_created":"2015-03-25T10:04:58.396-04:00","user_id":44444,"api_version":"v1","action":"payment.created","data":{"id":"999999999"}}`

func TestMercadoPagoWebhooks(t *testing.T) {
	t.Parallel()
	client := provider.NewMercadoPago(provider.MercadoPagoConfig{Secret: mpSecret})
	webhook := func() provider.Inbound {
		return mpWebhook(mpSecret, "999999999", "bb56a2f1-6aae-46ac-982e-9dcd3581d08e", "1742505638683", mpNotice)
	}
	first, err := client.DecodeEvent(webhook())
	require.NoError(t, err)
	require.Equal(t, "999999999", first.ChargeID)
	again, err := client.DecodeEvent(webhook())
	require.NoError(t, err)
	require.Equal(t, first, again, "a replay has the same id")
	other := webhook()
	other.Body = []byte(strings.Replace(mpNotice, "12345", "67890", 1)) // the body is not signed
	forged, err := client.DecodeEvent(other)
	require.NoError(t, err)
	require.Equal(t, first.ID, forged.ID, "nothing unsigned makes another notice of it")
	later, err := client.DecodeEvent(mpWebhook(mpSecret, "999999999", "another-request", "1742505638683", mpNotice))
	require.NoError(t, err)
	require.NotEqual(t, first.ID, later.ID)
	_, err = client.DecodeEvent(mpWebhook(mpSecret, "999999999", "", "1742505638683", mpNotice))
	require.NoError(t, err, "what is absent is not signed")
	order, err := client.DecodeEvent(mpWebhook(mpSecret, "ORD01ABC", "r", "1", `{"type":"order","data":{"id":"ORD01ABC"}}`))
	require.NoError(t, err)
	require.Empty(t, order.ChargeID, "other topics are nothing to us")
	claim, err := client.DecodeEvent(mpWebhook(mpSecret, "8", "r", "1", `{"type":"topic_claims_integration_wh","data":{"id":8}}`))
	require.NoError(t, err)
	require.Empty(t, claim.ChargeID)
	numeric, err := client.DecodeEvent(mpWebhook(mpSecret, "7", "r", "1", `{"type":"payment","data":{"id":7}}`))
	require.NoError(t, err)
	require.Equal(t, "7", numeric.ChargeID)

	for name, change := range map[string]func(*provider.Inbound){
		"no signature": func(webhook *provider.Inbound) { webhook.Header.Del("x-signature") },
		"empty":        func(webhook *provider.Inbound) { webhook.Header.Set("x-signature", "") },
		"no v1":        func(webhook *provider.Inbound) { webhook.Header.Set("x-signature", "ts=1742505638683") },
		"cut": func(webhook *provider.Inbound) {
			webhook.Header.Set("x-signature", webhook.Header.Get("x-signature")[:60])
		},
		"no ts": func(webhook *provider.Inbound) {
			_, v1, _ := strings.Cut(webhook.Header.Get("x-signature"), ",")
			webhook.Header.Set("x-signature", v1)
		},
		"another ts": func(webhook *provider.Inbound) {
			webhook.Header.Set("x-signature", strings.Replace(webhook.Header.Get("x-signature"), "ts=1", "ts=2", 1))
		},
		"another charge":     func(webhook *provider.Inbound) { webhook.Query.Set("data.id", "999999998") },
		"no charge":          func(webhook *provider.Inbound) { webhook.Query.Del("data.id") },
		"another request id": func(webhook *provider.Inbound) { webhook.Header.Set("x-request-id", "x") },
		"another secret": func(webhook *provider.Inbound) {
			*webhook = mpWebhook("wrong", "999999999", "bb56a2f1-6aae-46ac-982e-9dcd3581d08e", "1742505638683", mpNotice)
		},
	} {
		in := webhook()
		change(&in)
		_, err := client.DecodeEvent(in)
		require.ErrorIs(t, err, hub.ErrUnauthorized, name)
	}
	for name, body := range map[string]string{"no JSON": "x", "empty": "", "another charge": strings.Replace(mpNotice, "999999999", "1", 1)} {
		in := webhook()
		in.Body = []byte(body)
		_, err := client.DecodeEvent(in)
		require.ErrorIs(t, err, hub.ErrMalformed, name)
	}
	none := provider.NewMercadoPago(provider.MercadoPagoConfig{})
	_, err = none.DecodeEvent(mpWebhook("", "999999999", "r", "1", mpNotice))
	require.ErrorIs(t, err, hub.ErrUnauthorized, "without a secret nothing is signed")
}
