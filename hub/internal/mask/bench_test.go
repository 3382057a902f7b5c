package mask

import (
	"strings"
	"testing"
)

// BenchmarkCPF masks what the log shows: bodies of events, with and without a tax id.
func BenchmarkCPF(b *testing.B) {
	event := `{"id":"evt_0123456789abcdef","product":"scheduling","event_type":"appointment.created","timestamp":"2026-03-02T09:00:00Z","correlation_id":"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed","data":{"appointment_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","client_phone":"+5511987654321","client_name":"Ana Souza","service":"Cleaning","professional":"Dra. Lima","datetime":"2026-03-02T12:00:00Z","price":150.00}}`
	for name, text := range map[string]string{
		"event": event, "event with one": strings.Replace(event, "Ana Souza", "Ana 529.982.247-25", 1),
		"text": strings.Repeat("nothing to hide in 2026, room 101, at 12:30; ", 40), "digits": strings.Repeat("123 456 789 ", 200),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				CPF([]byte(text))
			}
		})
	}
}
