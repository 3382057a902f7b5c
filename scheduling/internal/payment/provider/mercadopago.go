package provider

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
)

// NameMercadoPago is Mercado Pago's name in the settings.
const NameMercadoPago = "mercadopago"

// mercadoPagoURL is the address of Mercado Pago's API.
const mercadoPagoURL = "https://api.mercadopago.com"

// MercadoPagoConfig configures a [MercadoPago].
type MercadoPagoConfig struct {
	Token  string           // access token
	Secret string           // signs webhooks
	URL    string           // of the API; "" = Mercado Pago's
	Do     hub.Doer         //
	Now    func() time.Time //
}

// MercadoPago collects through Mercado Pago's payments API (/v1/payments).
type MercadoPago struct{ config MercadoPagoConfig }

var _ Provider = (*MercadoPago)(nil)

// NewMercadoPago returns the provider.
func NewMercadoPago(config MercadoPagoConfig) *MercadoPago {
	if config.URL == "" {
		config.URL = mercadoPagoURL
	}
	config.URL = strings.TrimRight(config.URL, "/")
	return &MercadoPago{config: config}
}

// Name implements [Provider].
func (m *MercadoPago) Name() string { return NameMercadoPago }

// RequiresPayerEmail implements [Provider].
func (m *MercadoPago) RequiresPayerEmail() bool { return true }

// mpTimeFormat is the format of times in the API.
const mpTimeFormat = "2006-01-02T15:04:05.000-07:00"

// mpMinLifetime is the shortest lifetime the API accepts for a Pix charge. Orders may
// end sooner; then the charge is cancelled.
const mpMinLifetime = 30 * time.Minute

type mpOrder struct {
	Amount      booking.Cents `json:"transaction_amount"`
	Description string        `json:"description"`
	Method      string        `json:"payment_method_id"`
	Reference   uuid.UUID     `json:"external_reference"`
	NotifyURL   string        `json:"notification_url,omitempty"`
	ExpiresAt   string        `json:"date_of_expiration"`
	Payer       mpPayer       `json:"payer"`
}

type mpPayer struct {
	Email          string            `json:"email"`
	FirstName      string            `json:"first_name,omitempty"`
	LastName       string            `json:"last_name,omitempty"`
	Identification *mpIdentification `json:"identification,omitempty"`
}

type mpIdentification struct {
	Type   string `json:"type"` // CPF or CNPJ
	Number string `json:"number"`
}

// mpPayment is the part of an answer that is read.
type mpPayment struct {
	ID        json.Number   `json:"id"`
	Status    string        `json:"status"`
	Detail    string        `json:"status_detail"`
	Amount    booking.Cents `json:"transaction_amount"`
	Refunded  booking.Cents `json:"transaction_amount_refunded"`
	Currency  string        `json:"currency_id"`
	Method    string        `json:"payment_method_id"`
	Reference string        `json:"external_reference"`
	Approved  *time.Time    `json:"date_approved"`
	ExpiresAt *time.Time    `json:"date_of_expiration"`
	Point     struct {
		Data struct {
			Code      string `json:"qr_code"`
			TicketURL string `json:"ticket_url"`
			TxID      string `json:"transaction_id"`
		} `json:"transaction_data"`
	} `json:"point_of_interaction"`
}

// Create implements [Provider]. The payer needs an e-mail address.
func (m *MercadoPago) Create(ctx context.Context, order Order) (Charge, error) {
	now := m.config.Now()
	if err := order.check(now); err != nil {
		return Charge{}, err
	}
	if order.Payer.Email == "" {
		return Charge{}, hub.Errorf(hub.ErrInvalid, CodePayerEmail, "Mercado Pago needs the payer's e-mail address.")
	}
	expires := order.ExpiresAt
	if earliest := now.Add(mpMinLifetime + time.Minute); expires.Before(earliest) { // a minute for clocks that differ
		expires = earliest
	}
	body, err := json.Marshal(mpOrder{
		Amount: order.Amount, Description: order.Description, Method: "pix", Reference: order.ID, NotifyURL: withSignedWebhooks(order.NotifyURL),
		ExpiresAt: expires.UTC().Format(mpTimeFormat), Payer: newMPPayer(order.Payer),
	})
	if err != nil {
		return Charge{}, fmt.Errorf("encoding an order: %w", err)
	}
	answer, err := m.send(ctx, http.MethodPost, "/v1/payments", order.ID, body)
	if isUncertain(ctx, answer, err) { // the key makes it the same charge
		answer, err = m.send(ctx, http.MethodPost, "/v1/payments", order.ID, body)
	}
	charge, err := decodeCharge(answer, err)
	if errors.Is(err, hub.ErrNotFound) { // there is no charge that the caller could mean
		err = providerError(err)
	}
	if err != nil {
		return Charge{}, err
	}
	if err := charge.Check(order.ID, order.Amount, order.Currency); err != nil || charge.Code == "" {
		return Charge{}, providerError(fmt.Errorf("reading the new charge %s: %w", charge.ID, errors.Join(err, errors.New("it does not fit the order"))))
	}
	if charge.ExpiresAt.IsZero() || charge.ExpiresAt.After(order.ExpiresAt) {
		charge.ExpiresAt = order.ExpiresAt
	}
	return charge, nil
}

// withSignedWebhooks requests signed webhooks; the older kind has no signature.
func withSignedWebhooks(address string) string {
	if address == "" {
		return ""
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "source_news=webhooks"
}

func newMPPayer(p Payer) mpPayer {
	first, last, _ := strings.Cut(strings.TrimSpace(p.Name), " ")
	payer := mpPayer{Email: p.Email, FirstName: first, LastName: strings.TrimSpace(last)}
	const cpf, cnpj = 11, 14
	switch len(p.TaxID) {
	case cpf:
		payer.Identification = &mpIdentification{"CPF", p.TaxID}
	case cnpj:
		payer.Identification = &mpIdentification{"CNPJ", p.TaxID}
	}
	return payer
}

// isUncertain reports whether the provider may have done what was requested, although
// the call failed.
func isUncertain(ctx context.Context, answer hub.Response, err error) bool {
	return ctx.Err() == nil && (err != nil || answer.Status >= http.StatusInternalServerError)
}

// mpID matches the provider's ids. Nothing else may become part of a path.
var mpID = regexp.MustCompile(`^[0-9]{1,20}$`)

// Read implements [Provider].
func (m *MercadoPago) Read(ctx context.Context, id string) (Charge, error) {
	if !mpID.MatchString(id) {
		return Charge{}, unknownChargeError()
	}
	return decodeCharge(m.send(ctx, http.MethodGet, "/v1/payments/"+id, uuid.Nil, nil))
}

// Cancel implements [Provider].
func (m *MercadoPago) Cancel(ctx context.Context, id string) error {
	if !mpID.MatchString(id) {
		return unknownChargeError()
	}
	charge, err := decodeCharge(m.send(ctx, http.MethodPut, "/v1/payments/"+id, uuid.Nil, []byte(`{"status":"cancelled"}`)))
	switch {
	case err != nil:
		return err
	case charge.Status != Cancelled && charge.Status != Expired:
		return chargeStateError()
	}
	return nil
}

// Refund implements [Provider].
func (m *MercadoPago) Refund(ctx context.Context, id string, refund Refund) error {
	if !mpID.MatchString(id) {
		return unknownChargeError()
	}
	if refund.Amount <= 0 {
		return hub.Invalid("body.amount", "must be more than 0")
	}
	body := []byte(`{"amount":` + refund.Amount.String() + `}`)
	answer, err := m.send(ctx, http.MethodPost, "/v1/payments/"+id+"/refunds", refund.ID, body)
	if isUncertain(ctx, answer, err) {
		answer, err = m.send(ctx, http.MethodPost, "/v1/payments/"+id+"/refunds", refund.ID, body)
	}
	if err != nil {
		return transportError(err)
	}
	if err := statusError(answer); err != nil {
		return err
	}
	var done struct {
		Amount booking.Cents `json:"amount"`
		Status string        `json:"status"`
	}
	if err := answer.DecodeJSON(&done); err != nil {
		return providerError(err)
	}
	switch {
	case done.Amount != refund.Amount || done.Status == "rejected" || done.Status == "cancelled":
		return providerError(fmt.Errorf("refunding: the provider says %q", done.Status))
	case done.Status != "approved":
		return providerError(fmt.Errorf("%w: it says %q", ErrRefundUndecided, done.Status))
	}
	return nil
}

func (m *MercadoPago) send(ctx context.Context, method, path string, key uuid.UUID, body []byte) (hub.Response, error) {
	req, err := hub.NewRequest(ctx, method, m.config.URL+path, body)
	if err != nil {
		return hub.Response{}, err
	}
	req.Header.Set("Authorization", "Bearer "+m.config.Token)
	if key != uuid.Nil {
		req.Header.Set("X-Idempotency-Key", key.String())
	}
	return hub.Exchange(m.config.Do, req)
}

// statusError returns nil for a 2xx. The text of an error answer repeats the request,
// so only its codes are kept.
func statusError(answer hub.Response) error {
	if answer.Status >= 200 && answer.Status <= 299 {
		return nil
	}
	var problem struct {
		Cause []struct {
			Code json.Number `json:"code"`
		} `json:"cause"`
	}
	codes := ""
	if answer.DecodeJSON(&problem) == nil {
		for _, cause := range problem.Cause {
			codes += " " + cause.Code.String()
		}
	}
	switch answer.Status {
	case http.StatusNotFound:
		return unknownChargeError()
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		const notInThisState = " 2063" // "The action requested is not valid for the current payment state"
		if strings.Contains(codes, notInThisState) {
			return chargeStateError()
		}
	}
	cause := fmt.Errorf("the provider responded with %d, codes%s", answer.Status, codes)
	if answer.Status == http.StatusTooManyRequests || answer.Status >= http.StatusInternalServerError {
		outage := &OutageError{Cause: cause}
		var limited *hub.Error
		if errors.As(answer.StatusError(), &limited) {
			outage.RetryAfter = limited.RetryAfter
		}
		return providerError(outage)
	}
	return providerError(cause)
}

// mpStatus maps the provider's statuses.
var mpStatus = map[string]Status{
	"pending": Pending, "in_process": Pending, "authorized": Pending,
	"approved": Paid, "in_mediation": Paid, // a dispute that is not decided
	"rejected": Failed, "cancelled": Cancelled, "refunded": Refunded, "charged_back": Refunded,
}

func decodeCharge(answer hub.Response, err error) (Charge, error) {
	if err != nil {
		return Charge{}, transportError(err)
	}
	if err := statusError(answer); err != nil {
		return Charge{}, err
	}
	var payment mpPayment
	if err := answer.DecodeJSON(&payment); err != nil {
		return Charge{}, providerError(err)
	}
	status, known := mpStatus[payment.Status]
	switch {
	case !mpID.MatchString(payment.ID.String()):
		return Charge{}, providerError(errors.New("reading a charge: unknown id"))
	case payment.Method != "pix": // the account also collects otherwise, and its webhooks are about all payments
		return Charge{}, unknownChargeError()
	case !known:
		return Charge{}, providerError(errors.New("reading a charge: unknown status"))
	}
	if status == Cancelled && payment.Detail == "expired" {
		status = Expired
	}
	charge := Charge{
		ID: payment.ID.String(), TxID: payment.Point.Data.TxID, Status: status, Amount: payment.Amount, Refunded: payment.Refunded, Currency: payment.Currency,
		Code: payment.Point.Data.Code, QRURL: payment.Point.Data.TicketURL,
	}
	if charge.TxID == "" {
		charge.TxID = charge.ID
	}
	charge.Order, _ = uuid.Parse(payment.Reference) // zero: not created by the hub
	if payment.Approved != nil && (status == Paid || status == Refunded) {
		charge.PaidAt = *payment.Approved
	}
	if payment.ExpiresAt != nil {
		charge.ExpiresAt = *payment.ExpiresAt
	}
	return charge, nil
}

// DecodeEvent implements [Provider]. x-signature is "ts=…,v1=…": v1 is the HMAC-SHA256,
// in hex, of "id:<data.id of the query>;request-id:<x-request-id>;ts:<ts>;" without the
// absent parts. The body is not signed and not trusted. There is no age limit: retries
// come days later, and a repetition only reads the charge again.
func (m *MercadoPago) DecodeEvent(webhook Inbound) (Event, error) {
	sent := make(map[string]string)
	for part := range strings.SplitSeq(webhook.Header.Get("X-Signature"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		sent[name] = value
	}
	id := strings.ToLower(webhook.Query.Get("data.id"))
	manifest := manifestPart("id", id) + manifestPart("request-id", webhook.Header.Get("X-Request-Id")) + manifestPart("ts", sent["ts"])
	mac := hmac.New(sha256.New, []byte(m.config.Secret))
	mac.Write([]byte(manifest))
	signature, err := hex.DecodeString(sent["v1"])
	if err != nil || sent["ts"] == "" || id == "" || m.config.Secret == "" || !hmac.Equal(signature, mac.Sum(nil)) {
		return Event{}, signatureError()
	}
	var body struct {
		Type string `json:"type"`
		Data struct {
			ID json.RawMessage `json:"id"` // a string or a number
		} `json:"data"`
	}
	if json.Unmarshal(webhook.Body, &body) != nil || strings.ToLower(strings.Trim(string(body.Data.ID), `"`)) != id {
		return Event{}, malformedError()
	}
	hash := sha256.Sum256([]byte(manifest))
	notice := Event{ID: hex.EncodeToString(hash[:])}
	if body.Type == "payment" && mpID.MatchString(id) {
		notice.ChargeID = id
	}
	return notice, nil
}

func manifestPart(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ":" + value + ";"
}
