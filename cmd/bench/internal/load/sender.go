package load

import (
	"encoding/json"
	"time"

	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// sender sends one POST at a time and reuses its buffers.
type sender struct {
	client       *fasthttp.HostClient
	size         int
	orderingKeys int
	keys         []string
	signer       *hub.Signer // of webhooks; nil: events are published
	req          *fasthttp.Request
	resp         *fasthttp.Response
	body         []byte

	eventType string // of webhooks
}

func newSender(client *fasthttp.HostClient, l Spec) *sender {
	s := &sender{client: client, size: l.Size, orderingKeys: l.OrderingKeys, keys: l.Keys, eventType: l.EventType, req: fasthttp.AcquireRequest(), resp: fasthttp.AcquireResponse()}
	s.req.Header.SetMethod(fasthttp.MethodPost)
	s.req.SetRequestURI(l.URL)
	s.req.Header.SetContentType("application/json")
	if l.Secret != "" {
		s.signer = hub.NewSigner(l.Secret)
	}
	return s
}

// send sends event n, due at the given Unix time in nanoseconds (0 = now).
func (s *sender) send(n uint64, due int64) records.Sent {
	if due == 0 {
		due = time.Now().UnixNano()
	}
	record := records.Sent{Number: n, SentAt: due}
	if s.signer != nil {
		s.body = payload.AppendWebhook(s.body[:0], s.eventType, n, due, s.size)
		s.req.Header.Set(hub.HeaderSignature, hub.FormatBodySignature(s.signer.BodyHMAC(s.body)))
	} else {
		s.body, record.DataCRC = payload.AppendEvent(s.body[:0], n, due, s.size, s.orderingKeys)
	}
	if len(s.keys) > 0 {
		s.req.Header.Set(hub.HeaderKey, s.keys[n%uint64(len(s.keys))])
	}
	s.req.SetBodyRaw(s.body)
	if err := s.client.Do(s.req, s.resp); err != nil {
		record.AnsweredAt = time.Now().UnixNano()
		return record
	}
	record.AnsweredAt = time.Now().UnixNano()
	record.Status = uint16(s.resp.StatusCode())
	if record.Accepted() && s.signer == nil {
		record.ID, record.Deliveries = ParseAcceptance(s.resp.Body())
	}
	return record
}

// ParseAcceptance reads the id and the number of deliveries from a 202 response.
func ParseAcceptance(body []byte) (id uint64, deliveries uint16) {
	var acceptance struct {
		ID         string `json:"id"`
		Deliveries uint16 `json:"deliveries"`
	}
	if err := json.Unmarshal(body, &acceptance); err != nil {
		return 0, 1 // nothing will arrive under this id: the ledger calls it lost
	}
	id, _ = hub.ParseEventID(acceptance.ID)
	return id, acceptance.Deliveries
}
