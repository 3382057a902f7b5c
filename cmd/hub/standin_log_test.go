package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

func (s *standIn) createProduct(w http.ResponseWriter, _ *http.Request, body object) {
	name, _ := body["name"].(string)
	if s.find("products", "name", name) != nil {
		refuse(w, 409, "product_exists", "There is a product of this name.")
		return
	}
	if strings.ToLower(name) != name {
		refuse(w, 422, "validation_failed", "body.name must be lowercase", object{"location": "body.name", "message": "must be lowercase"})
		return
	}
	s.add(w, "products", object{"name": name, "prefix": body["prefix"], "title": body["title"], "hosted": false})
}

func (s *standIn) createTenant(w http.ResponseWriter, _ *http.Request, body object) {
	s.add(w, "tenants", object{"id": uuid.NewString(), "product": body["product"], "name": body["name"], "external_ref": body["external_ref"]})
}

func (s *standIn) createKey(w http.ResponseWriter, r *http.Request, body object) {
	old := s.find("keys", "id", r.PathValue("id"))
	if old == nil {
		old = body
	}
	s.add(w, "keys", object{"id": uuid.NewString(), "tenant_id": old["tenant_id"], "name": old["name"], "environment": old["environment"],
		"api_key": "crm_live_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "0000", "prefix": "crm_live_", "last4": "0000",
		"scopes": old["scopes"], "rate": "100-M", "expires_at": old["expires_at"], "revoked_at": nil})
}

func (s *standIn) createEndpoint(w http.ResponseWriter, _ *http.Request, body object) {
	body["id"], body["enabled"] = uuid.NewString(), true
	if body["secret"] == nil {
		body["secret"] = hub.NewSecret()
	}
	s.add(w, "endpoints", body)
}

func (s *standIn) updateEndpoint(w http.ResponseWriter, r *http.Request, body object) {
	item := s.find("endpoints", "id", r.PathValue("id"))
	for name, value := range body {
		item[name] = value
	}
	answer(w, 200, item)
}

func (s *standIn) rotateSecret(w http.ResponseWriter, r *http.Request, _ object) {
	item := s.find("endpoints", "id", r.PathValue("id"))
	item["secret"] = hub.NewSecret()
	answer(w, 200, item)
}

func (s *standIn) publish(w http.ResponseWriter, _ *http.Request, key object, raw []byte) {
	answer(w, 202, s.accept(key, raw))
}

func (s *standIn) publishBatch(w http.ResponseWriter, _ *http.Request, key object, raw []byte) {
	var body struct {
		Events []json.RawMessage `json:"events"`
	}
	_ = json.Unmarshal(raw, &body)
	if len(body.Events) == 0 || len(body.Events) > 500 || len(raw) > 1<<20 {
		refuse(w, 422, "validation_failed", "A batch holds 1 to 500 events and 1 MiB.")
		return
	}
	if bytes.Contains(raw, []byte(`"poison"`)) {
		refuse(w, 422, "validation_failed", "body.events[0].event_type is not allowed")
		return
	}
	items := []object{}
	for _, one := range body.Events {
		items = append(items, s.accept(key, one))
	}
	answer(w, 202, object{"items": items})
}

// accept stores an event and begins its deliveries.
func (s *standIn) accept(key object, raw []byte) object {
	var in struct {
		ID            string          `json:"id"`
		EventType     string          `json:"event_type"`
		CorrelationID string          `json:"correlation_id"`
		Data          json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(raw, &in)
	if in.ID == "" {
		in.ID = hub.NewEventID()
	}
	envelope := hub.AppendEnvelope(nil, hub.Event{ID: in.ID, Product: "crm", Type: in.EventType, Time: time.Now(), CorrelationID: in.CorrelationID, Data: in.Data})
	deliveries := 0
	for _, endpoint := range s.lists["endpoints"] {
		if endpoint["tenant_id"] != key["tenant_id"] || !wants(endpoint, in.EventType) {
			continue
		}
		deliveries++
		d := object{"id": uuid.NewString(), "event_id": in.ID, "tenant_id": key["tenant_id"], "endpoint_id": endpoint["id"], "product": "crm",
			"direction": "outbound", "event_type": in.EventType, "status": "pending", "status_code": nil, "retries": 0, "duration_ms": nil,
			"payload": json.RawMessage(envelope), "created_at": time.Now().UTC().Format(time.RFC3339), "next_attempt_at": nil, "attempts": []object{}}
		s.lists["deliveries"] = append(s.lists["deliveries"], d)
		url, secret := fmt.Sprint(endpoint["url"]), fmt.Sprint(endpoint["secret"])
		s.work.Go(func() { s.deliver(d, in.ID, url, secret, envelope) })
	}
	s.lists["events"] = append(s.lists["events"], object{"id": in.ID, "event_type": in.EventType, "product": "crm", "tenant_id": key["tenant_id"],
		"correlation_id": in.CorrelationID, "deliveries": deliveries, "created_at": time.Now().UTC().Format(time.RFC3339), "payload": json.RawMessage(envelope)})
	return object{"id": in.ID, "deliveries": deliveries}
}

func wants(endpoint object, eventType string) bool {
	types, _ := endpoint["event_types"].([]any)
	return slices.ContainsFunc(types, func(one any) bool {
		prefix, star := strings.CutSuffix(fmt.Sprint(one), "*")
		return one == eventType || star && strings.HasPrefix(eventType, prefix)
	})
}

// deliver makes up to four attempts, waiting almost nothing between them.
func (s *standIn) deliver(d object, eventID, url, secret string, body []byte) {
	attempts := []object{}
	for number := 1; number <= 4; number++ {
		begin := time.Now()
		code, text := post(url, signed(eventID, secret, body, begin), body)
		attempts = append(attempts, object{"number": number, "started_at": begin.UTC().Format(time.RFC3339Nano), "status_code": code,
			"response_body": text, "error": nil, "request_headers": object{hub.HeaderSignature: hub.SignBody(secret, body)},
			"phases": object{"queue_ms": 0.4, "dns_ms": 0, "connect_ms": 0.2, "tls_ms": 0, "first_byte_ms": 1.5, "total_ms": 2.25}})
		status := "parked"
		if code >= 200 && code < 300 {
			status = "delivered"
		}
		s.mu.Lock()
		d["attempts"], d["retries"], d["status_code"], d["duration_ms"] = slices.Clone(attempts), number-1, code, 2.25
		if status == "delivered" || number == 4 {
			d["status"] = status
		}
		s.mu.Unlock()
		if status == "delivered" {
			return
		}
		select {
		case <-s.ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// signed gives the headers of a delivery.
func signed(eventID, secret string, body []byte, at time.Time) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	header.Set(hub.HeaderSignature, hub.SignBody(secret, body))
	header.Set(hub.HeaderStdID, eventID)
	header.Set(hub.HeaderStdTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(hub.HeaderStdSignature, hub.SignStandard(secret, eventID, at.Unix(), body))
	return header
}

// post sends a delivery and gives the status and the body of the answer; 0 for none.
func post(url string, header http.Header, body []byte) (int, string) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, ""
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func (s *standIn) retry(w http.ResponseWriter, r *http.Request, _ object) {
	item := s.find("deliveries", "id", r.PathValue("id"))
	if item == nil {
		refuse(w, 404, "not_found", "There is nothing here.")
		return
	}
	item["status"] = "pending"
	answer(w, 202, object{"id": item["id"], "status": "pending"})
}

func (s *standIn) createReplay(w http.ResponseWriter, _ *http.Request, body object) {
	if body["dry_run"] == true {
		answer(w, 200, object{"count": 12})
		return
	}
	item := object{"id": uuid.NewString(), "status": "running", "total": int64(12), "done": int64(0), "failed": int64(0), "created_at": time.Now().UTC()}
	s.lists["replays"] = append(s.lists["replays"], item)
	answer(w, 202, item)
}

func (s *standIn) showReplay(w http.ResponseWriter, r *http.Request, _ object) {
	item := s.find("replays", "id", r.PathValue("id"))
	done := min(item["done"].(int64)+s.replayStep, 12)
	item["done"] = done
	if done == 12 {
		item["status"] = "done"
	}
	answer(w, 200, item)
}

func (s *standIn) cancelReplay(w http.ResponseWriter, r *http.Request, _ object) {
	item := s.find("replays", "id", r.PathValue("id"))
	item["status"] = "cancelled"
	answer(w, 200, item)
}

func (s *standIn) stats(w http.ResponseWriter, _ *http.Request, _ object) {
	answer(w, 200, object{"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z", "bucket": "30m", "items": []object{
		{"at": "2026-01-01T00:00:00Z", "accepted": 10, "delivered": 8, "failed": 1, "parked": 1, "p50_ms": 4.5, "p95_ms": 20, "p99_ms": 12500},
		{"at": "2026-01-01T00:30:00Z", "accepted": 0, "delivered": 0, "failed": 0, "parked": 0, "p50_ms": nil, "p95_ms": nil, "p99_ms": nil},
	}})
}
