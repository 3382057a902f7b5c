package load

import (
	"strconv"
	"time"

	"integrationhub/cmd/bench/internal/records"
)

// Summary is what the generator prints.
type Summary struct {
	Sent     int            `json:"sent"`
	Accepted int            `json:"accepted"`
	Statuses map[string]int `json:"statuses"` // HTTP status → responses; "0" = no response
	Seconds  float64        `json:"seconds"`  // first send to last response
}

// Summarize counts the responses.
func Summarize(sent []records.Sent) Summary {
	s := Summary{Sent: len(sent), Statuses: make(map[string]int)}
	var first, last int64
	for i, record := range sent {
		s.Statuses[strconv.Itoa(int(record.Status))]++
		if record.Accepted() {
			s.Accepted++
		}
		if i == 0 || record.SentAt < first {
			first = record.SentAt
		}
		last = max(last, record.AnsweredAt)
	}
	s.Seconds = time.Duration(last - first).Seconds()
	return s
}
