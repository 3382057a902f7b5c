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

// cleanMessage returns a received message as it can be stored. The hub has refused JSON with a
// NUL, or with what is no UTF-8.
func cleanMessage(in driver.Incoming, now time.Time) driver.Incoming {
	in.Body = chat.Truncate(in.Body, maxBody)
	in.Name = chat.Truncate(strings.TrimSpace(strings.Map(dropControl, in.Name)), maxName)
	if in.At.Before(oldestMessage) || in.At.After(now.Add(futureTolerance)) {
		in.At = now.UTC()
	}
	if in.Media != nil {
		media := *in.Media
		media.MimeType, media.Name = chat.Truncate(media.MimeType, maxFileName), chat.Truncate(media.Name, maxFileName)
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
