// Package chat holds the rules of the messaging product: phone numbers, and the states of
// tickets, connections and messages. It does no I/O.
package chat

import "slices"

// TicketStatus is the state of a ticket.
type TicketStatus string

// States of tickets.
const (
	TicketPending TicketStatus = "pending" // waits for a user
	TicketOpen    TicketStatus = "open"    // a user has accepted it
	TicketClosed  TicketStatus = "closed"
)

// TicketStatuses returns every state of a ticket.
func TicketStatuses() []TicketStatus { return []TicketStatus{TicketPending, TicketOpen, TicketClosed} }

// IsValid reports whether s is a state of tickets.
func (s TicketStatus) IsValid() bool { return slices.Contains(TicketStatuses(), s) }

// IsLive reports whether a ticket in this state gets its contact's messages.
func (s TicketStatus) IsLive() bool { return s == TicketPending || s == TicketOpen }

// ConnectionStatus is the state of a connection to a chat network.
type ConnectionStatus string

// States of connections.
const (
	ConnectionOpening      ConnectionStatus = "OPENING"      // the driver is starting it
	ConnectionQRCode       ConnectionStatus = "qrcode"       // a QR code waits for a phone
	ConnectionPairing      ConnectionStatus = "PAIRING"      // a phone has scanned the code
	ConnectionConnected    ConnectionStatus = "CONNECTED"    // messages flow
	ConnectionTimeout      ConnectionStatus = "TIMEOUT"      // the network does not respond
	ConnectionDisconnected ConnectionStatus = "DISCONNECTED" // logged out, or never paired
	ConnectionBanned       ConnectionStatus = "BANNED"       // the network refuses the number
	ConnectionOutdated     ConnectionStatus = "OUTDATED"     // the network refuses the driver's version
)

// Ack is how far a sent message has come. It only grows, except for a failure.
type Ack int

// Values of Ack.
const (
	AckFailed  Ack = -1
	AckPending Ack = 0 // not accepted by the network yet
	AckServer  Ack = 1 // accepted by the network
	AckDevice  Ack = 2 // arrived at the contact's device
	AckRead    Ack = 3
	AckPlayed  Ack = 4 // audio and video
)

// Follows reports whether a receipt with this ack changes a message whose ack is earlier. In
// whatever order receipts come, and however often, the last one that follows is the same: a
// message that failed was accepted before, and one that was delivered cannot fail any more.
func (a Ack) Follows(earlier Ack) bool { return a.rank() > earlier.rank() }

// rank returns the place of an ack among those of a message.
func (a Ack) rank() int {
	switch a {
	case AckPending:
		return 0
	case AckServer:
		return 1
	case AckFailed:
		return 2
	}
	return int(a) + 1
}

// MediaType is the kind of a message's content.
type MediaType string

// Kinds of content.
const (
	MediaText     MediaType = "text"
	MediaImage    MediaType = "image"
	MediaVideo    MediaType = "video"
	MediaAudio    MediaType = "audio"
	MediaDocument MediaType = "document"
	MediaSticker  MediaType = "sticker"
	MediaLocation MediaType = "location"
	MediaContact  MediaType = "contact"
)

// Origin is what a message comes from.
type Origin string

// Origins of messages.
const (
	OriginAgent    Origin = "agent"    // a user in a ticket
	OriginAPI      Origin = "api"      // the send API
	OriginCampaign Origin = "campaign" //
	OriginSchedule Origin = "schedule" // a scheduled message
	OriginBot      Origin = "bot"      // automatic messages
	OriginPhone    Origin = "phone"    // the connection's own phone
	OriginContact  Origin = "contact"  // received
)
