// Package payload writes the bodies that the generator sends, and reads them at the receiver.
package payload

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"time"

	"integrationhub/hub"
)

// EventType is the type of every event the generator publishes.
const EventType = "bench.event"

// filler is the text that pads payloads: letters and digits that need no JSON
// escaping and hardly compress. A payload takes a window of it, so that
// consecutive payloads differ.
var filler = func() []byte {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1<<17)
	for i := range text {
		text[i] = alphabet[random.IntN(len(alphabet))]
	}
	return text
}()

// AppendData appends the data object of event n, sent or due at the given Unix time
// in nanoseconds. It has size bytes, or more when its fixed parts alone are longer.
// From the time in it the receiver computes the latency.
func AppendData(dst []byte, n uint64, at int64, size int) []byte {
	start := len(dst)
	dst = append(dst, `{"n":`...)
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, `,"t":`...)
	dst = strconv.AppendInt(dst, at, 10)
	dst = append(dst, `,"text":"`...)
	if pad := size - (len(dst) - start) - len(`"}`); pad > 0 {
		from := int(n % uint64(len(filler)-pad))
		dst = append(dst, filler[from:from+pad]...)
	}
	return append(dst, `"}`...)
}

// AppendEvent appends the request body that publishes event n, and returns it
// with the checksum of its data object. It has one of orderingKeys ordering keys, or none
// if that is 0.
func AppendEvent(dst []byte, n uint64, at int64, size, orderingKeys int) ([]byte, uint32) {
	dst = append(dst, `{"event_type":"`+EventType+`",`...)
	if orderingKeys > 0 {
		dst = append(dst, `"ordering_key":"key-`...)
		dst = strconv.AppendUint(dst, n%uint64(orderingKeys), 10)
		dst = append(dst, `",`...)
	}
	dst = append(dst, `"data":`...)
	start := len(dst)
	dst = AppendData(dst, n, at, size)
	sum := crc32.ChecksumIEEE(dst[start:])
	return append(dst, '}'), sum
}

// Values in webhooks to the hosted product notes. It handles SeenEvent without a SQL
// statement, and inserts a row for NotedEvent.
const (
	PeerProduct = "board" // the sender
	SeenEvent   = "note.seen"
	NotedEvent  = "note.created"
)

// AppendWebhook appends the envelope of event n, as the peer signs it.
func AppendWebhook(dst []byte, eventType string, n uint64, at int64, size int) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, hub.FormatEventID(n)...)
	dst = append(dst, `","product":"`+PeerProduct+`","event_type":"`...)
	dst = append(dst, eventType...)
	dst = append(dst, `","timestamp":"`...)
	dst = time.Unix(0, at).UTC().AppendFormat(dst, time.RFC3339)
	dst = append(dst, `","data":`...)
	return append(AppendData(dst, n, at, size), '}')
}

// stampPrefix precedes the number in a body of the generator. The hub's
// envelope and the floor's body both end with the data object and one brace.
var stampPrefix = []byte(`"data":{"n":`)

// ReadStamp finds the generator's data object in a delivered body. It returns
// the event's number, its send time in Unix nanoseconds, and the data object.
func ReadStamp(body []byte) (n uint64, at int64, data []byte, ok bool) {
	i := bytes.Index(body, stampPrefix)
	if i < 0 || body[len(body)-1] != '}' {
		return 0, 0, nil, false
	}
	data = body[i+len(`"data":`) : len(body)-1]
	rest := body[i+len(stampPrefix):]
	n, rest = readDigits(rest)
	if !bytes.HasPrefix(rest, []byte(`,"t":`)) {
		return 0, 0, nil, false
	}
	t, _ := readDigits(rest[len(`,"t":`):])
	return n, int64(t), data, true
}

// readDigits reads a decimal number and returns it with the rest of the text.
func readDigits(text []byte) (value uint64, rest []byte) {
	i := 0
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		value = value*10 + uint64(text[i]-'0')
		i++
	}
	return value, text[i:]
}
