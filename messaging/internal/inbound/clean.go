package inbound

import (
	"strings"
	"time"
	"unicode"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// Bounds of what networks say, in characters. What is longer is cut: a message that was refused
// would be delivered again and again, and hold up others.
const (
	maxName     = 120 // of contacts
	maxBody     = 65_536
	maxFileName = 255 // also of types of files
)

// oldestMessage is the time before which no message was written: what is earlier is an error of
// the network.
var oldestMessage = time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC)

// futureTolerance is how far the clock of a network may be ahead.
const futureTolerance = 24 * time.Hour

// withoutNUL returns a text as PostgreSQL stores it.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// cleanMessage returns a received message as it can be stored.
func cleanMessage(in driver.Incoming, now time.Time) driver.Incoming {
	for _, text := range []*string{&in.RemoteID, &in.From, &in.LID, &in.QuotedRemoteID} {
		*text = withoutNUL(*text)
	}
	in.Body = chat.Truncate(withoutNUL(in.Body), maxBody)
	in.Name = chat.Truncate(strings.TrimSpace(strings.Map(dropControl, in.Name)), maxName)
	if in.At.Before(oldestMessage) || in.At.After(now.Add(futureTolerance)) {
		in.At = now.UTC()
	}
	if in.Media != nil {
		media := *in.Media
		media.Reference = withoutNUL(media.Reference)
		media.MimeType, media.Name = chat.Truncate(withoutNUL(media.MimeType), maxFileName), chat.Truncate(withoutNUL(media.Name), maxFileName)
		in.Media = &media
	}
	return in
}

// dropControl is a mapping that removes control characters.
func dropControl(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// cleanReceipt returns a receipt as it can be stored.
func cleanReceipt(r driver.Receipt) driver.Receipt {
	ids := make([]string, len(r.RemoteIDs))
	for i, id := range r.RemoteIDs {
		ids[i] = withoutNUL(id)
	}
	r.RemoteIDs, r.MessageID, r.ErrorCode = ids, withoutNUL(r.MessageID), chat.Truncate(withoutNUL(r.ErrorCode), maxFileName)
	return r
}

// cleanChange returns the state of a connection as it can be stored.
func cleanChange(c driver.ConnectionChange) driver.ConnectionChange {
	c.QRCode, c.Number, c.LastError = withoutNUL(c.QRCode), withoutNUL(c.Number), withoutNUL(c.LastError)
	return c
}
