package provider

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

// NameMercadoPago is Mercado Pago's in the settings.
const NameMercadoPago = "mercadopago"

// mercadoPagoURL is where its API is.
const mercadoPagoURL = "https://api.mercadopago.com"

// MercadoPagoConfig is what [MercadoPago] works with.
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

// NewMercadoPago makes the provider.
func NewMercadoPago(c MercadoPagoConfig) *MercadoPago {
	if c.URL == "" {
		c.URL = mercadoPagoURL
	}
	c.URL = strings.TrimRight(c.URL, "/")
	return &MercadoPago{config: c}
}

// Name implements [Provider].
func (m *MercadoPago) Name() string { return NameMercadoPago }

// NeedsEmail implements [Provider].
func (m *MercadoPago) NeedsEmail() bool { return true }

// mpTime is how it writes times.
const mpTime = "2006-01-02T15:04:05.000-07:00"

// mpShortest is the least life of a Pix charge there. Ours may end sooner: whoever
// ordered it cancels it then.
const mpShortest = 30 * time.Minute

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

// mpPayment is what is read of its answers.
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
			QR        string `json:"qr_code_base64"`
			TicketURL string `json:"ticket_url"`
			TxID      string `json:"transaction_id"`
		} `json:"transaction_data"`
	} `json:"point_of_interaction"`
}

// Create implements [Provider]. The payer needs an e-mail address.
func (m *MercadoPago) Create(ctx context.Context, o Order) (Charge, error) {
	now := m.config.Now()
	if err := o.check(now); err != nil {
		return Charge{}, err
	}
	if o.Payer.Email == "" {
		return Charge{}, hub.Errorf(hub.ErrInvalid, CodePayerEmail, "Mercado Pago needs the payer's e-mail address.")
	}
	expires := o.ExpiresAt
	if least := now.Add(mpShortest + time.Minute); expires.Before(least) { // a minute for clocks that differ
		expires = least
	}
	body, err := json.Marshal(mpOrder{
		Amount: o.Amount, Description: o.Description, Method: "pix", Reference: o.ID, NotifyURL: webhooksOnly(o.NotifyURL),
		ExpiresAt: expires.UTC().Format(mpTime), Payer: payerOf(o.Payer),
	})
	if err != nil {
		return Charge{}, fmt.Errorf("encoding an order: %w", err)
	}
	answer, err := m.ask(ctx, http.MethodPost, "/v1/payments", o.ID, body)
	if again(ctx, answer, err) { // the key makes it the same charge
		answer, err = m.ask(ctx, http.MethodPost, "/v1/payments", o.ID, body)
	}
	charge, err := chargeOf(answer, err)
	if err != nil {
		return Charge{}, err
	}
	if err := charge.Check(o.ID, o.Amount, o.Currency); err != nil || charge.Code == "" {
		return Charge{}, failed(fmt.Errorf("reading the new charge %s: %w", charge.ID, errors.Join(err, errors.New("it does not fit the order"))))
	}
	if charge.ExpiresAt.IsZero() || charge.ExpiresAt.After(o.ExpiresAt) {
		charge.ExpiresAt = o.ExpiresAt
	}
	return charge, nil
}

// webhooksOnly asks for signed webhooks; the older kind of notice has no signature.
func webhooksOnly(address string) string {
	if address == "" {
		return ""
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "source_news=webhooks"
}

func payerOf(p Payer) mpPayer {
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

// again tells whether it is not known if the provider did what it was asked.
func again(ctx context.Context, answer hub.Response, err error) bool {
	return ctx.Err() == nil && (err != nil || answer.Status >= http.StatusInternalServerError)
}

// mpID is the form of its ids; nothing else may become part of a path.
var mpID = regexp.MustCompile(`^[0-9]{1,20}$`)

// Read implements [Provider].
func (m *MercadoPago) Read(ctx context.Context, id string) (Charge, error) {
	if !mpID.MatchString(id) {
		return Charge{}, unknownCharge()
	}
	return chargeOf(m.ask(ctx, http.MethodGet, "/v1/payments/"+id, uuid.Nil, nil))
}

// Cancel implements [Provider].
func (m *MercadoPago) Cancel(ctx context.Context, id string) error {
	if !mpID.MatchString(id) {
		return unknownCharge()
	}
	charge, err := chargeOf(m.ask(ctx, http.MethodPut, "/v1/payments/"+id, uuid.Nil, []byte(`{"status":"cancelled"}`)))
	switch {
	case err != nil:
		return err
	case charge.Status != Cancelled && charge.Status != Expired:
		return wrongState()
	}
	return nil
}

// Refund implements [Provider].
func (m *MercadoPago) Refund(ctx context.Context, id string, r Refund) error {
	if !mpID.MatchString(id) {
		return unknownCharge()
	}
	if r.Amount <= 0 {
		return hub.Invalid("body.amount", "must be more than 0")
	}
	body := []byte(`{"amount":` + r.Amount.String() + `}`)
	answer, err := m.ask(ctx, http.MethodPost, "/v1/payments/"+id+"/refunds", r.ID, body)
	if again(ctx, answer, err) {
		answer, err = m.ask(ctx, http.MethodPost, "/v1/payments/"+id+"/refunds", r.ID, body)
	}
	if err != nil {
		return failed(err)
	}
	if err := refusal(answer); err != nil {
		return err
	}
	var done struct {
		Amount booking.Cents `json:"amount"`
		Status string        `json:"status"`
	}
	if err := answer.DecodeJSON(&done); err != nil {
		return failed(err)
	}
	if done.Amount != r.Amount || done.Status == "rejected" || done.Status == "cancelled" {
		return failed(fmt.Errorf("refunding: the provider says %q", done.Status))
	}
	return nil
}

func (m *MercadoPago) ask(ctx context.Context, method, path string, key uuid.UUID, body []byte) (hub.Response, error) {
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

// refusal is nil for a 2xx. The text of an error answer repeats what was sent, so
// only its numbers are kept.
func refusal(answer hub.Response) error {
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
		for _, one := range problem.Cause {
			codes += " " + one.Code.String()
		}
	}
	switch answer.Status {
	case http.StatusNotFound:
		return unknownCharge()
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		const notInThisState = " 2063" // "The action requested is not valid for the current payment state"
		if strings.Contains(codes, notInThisState) {
			return wrongState()
		}
	}
	return failed(fmt.Errorf("the provider answered %d, codes%s", answer.Status, codes))
}

// mpStatus are its statuses in our words.
var mpStatus = map[string]Status{
	"pending": Pending, "in_process": Pending, "authorized": Pending,
	"approved": Paid, "in_mediation": Paid, // a dispute that is not decided
	"rejected": Failed, "cancelled": Cancelled, "refunded": Refunded, "charged_back": Refunded,
}

func chargeOf(answer hub.Response, err error) (Charge, error) {
	if err != nil {
		return Charge{}, failed(err)
	}
	if err := refusal(answer); err != nil {
		return Charge{}, err
	}
	var p mpPayment
	if err := answer.DecodeJSON(&p); err != nil {
		return Charge{}, failed(err)
	}
	status, known := mpStatus[p.Status]
	if !known || !mpID.MatchString(p.ID.String()) || p.Method != "pix" {
		return Charge{}, failed(errors.New("reading a charge: unknown status, id or method"))
	}
	if status == Cancelled && p.Detail == "expired" {
		status = Expired
	}
	c := Charge{
		ID: p.ID.String(), TxID: p.Point.Data.TxID, Status: status, Amount: p.Amount, Refunded: p.Refunded, Currency: p.Currency,
		Code: p.Point.Data.Code, QRURL: p.Point.Data.TicketURL,
	}
	if c.TxID == "" {
		c.TxID = c.ID
	}
	c.Order, _ = uuid.Parse(p.Reference) // zero: made by somebody else
	if p.Approved != nil && (status == Paid || status == Refunded) {
		c.PaidAt = *p.Approved
	}
	if p.ExpiresAt != nil {
		c.ExpiresAt = *p.ExpiresAt
	}
	if c.QR, err = base64.StdEncoding.DecodeString(p.Point.Data.QR); err != nil {
		return Charge{}, failed(fmt.Errorf("reading the QR code of charge %s: %w", c.ID, err))
	}
	return c, nil
}

// Notice implements [Provider]. x-signature is "ts=…,v1=…": v1 is the HMAC-SHA256, in
// hex, of "id:<data.id of the query>;request-id:<x-request-id>;ts:<ts>;" without the
// parts that are absent. The body is not signed, so nothing is believed of it. There
// is no limit of age: retries come days later, and what is repeated has no effect
// but reading the charge.
func (m *MercadoPago) Notice(in Inbound) (Notice, error) {
	sent := make(map[string]string)
	for part := range strings.SplitSeq(in.Header.Get("X-Signature"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		sent[name] = value
	}
	id := strings.ToLower(in.Query.Get("data.id"))
	manifest := part("id", id) + part("request-id", in.Header.Get("X-Request-Id")) + part("ts", sent["ts"])
	mac := hmac.New(sha256.New, []byte(m.config.Secret))
	mac.Write([]byte(manifest))
	given, err := hex.DecodeString(sent["v1"])
	if err != nil || sent["ts"] == "" || id == "" || m.config.Secret == "" || !hmac.Equal(given, mac.Sum(nil)) {
		return Notice{}, unauthorized()
	}
	var body struct {
		Type string `json:"type"`
		Data struct {
			ID json.RawMessage `json:"id"` // a string or a number
		} `json:"data"`
	}
	if json.Unmarshal(in.Body, &body) != nil || strings.ToLower(strings.Trim(string(body.Data.ID), `"`)) != id {
		return Notice{}, unreadable()
	}
	hash := sha256.Sum256([]byte(manifest))
	notice := Notice{ID: hex.EncodeToString(hash[:])}
	if body.Type == "payment" && mpID.MatchString(id) {
		notice.Charge = id
	}
	return notice, nil
}

func part(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ":" + value + ";"
}
