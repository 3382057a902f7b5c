package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// States of sessions.
const (
	stateOnline  = "online"
	stateOffline = "offline"
	stateBanned  = "banned"
)

// Phone is a simulated phone.
type Phone struct {
	Number    string
	Name      string
	CreatedAt time.Time
}

// Message is a message on the network.
type Message struct {
	Seq      int64
	ID       string
	From, To string // numbers
	Body     string
	MediaURL *string
	QuotedID *string
	Ack      chat.Ack
	At       time.Time

	IsWaiting bool // at the network, for its recipient
	isLost    bool // by the network
}

// AddPhone adds a phone, or renames it.
func (n *Network) AddPhone(ctx context.Context, number, name string) (Phone, error) {
	phone := Phone{Number: number, Name: name}
	err := n.host.Pool.QueryRow(ctx, `insert into sandbox_phones (number, name, created_at) values ($1, $2, $3)
		on conflict (number) do update set name = excluded.name returning created_at`, number, name, n.host.Now()).Scan(&phone.CreatedAt)
	return phone, err
}

// Phones returns all phones.
func (n *Network) Phones(ctx context.Context) ([]Phone, error) {
	rows, err := n.host.Pool.Query(ctx, `select number, name, created_at from sandbox_phones order by number limit 1000`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Phone])
}

// Scan pairs a phone with the connection of a QR code. A code is valid once, for a minute.
func (n *Network) Scan(ctx context.Context, number, code string) (connectionID int64, err error) {
	if err := n.requirePhone(ctx, number); err != nil {
		return 0, err
	}
	connectionID, nonce, ok := parseCode(code)
	if !ok {
		return 0, hub.Invalid("body.code", "is not the text of a QR code of this network")
	}
	err = pgx.BeginFunc(ctx, n.host.Pool, func(tx pgx.Tx) error {
		used, err := tx.Exec(ctx, `update sandbox_pairings set used_at = $3 where nonce = $1 and connection_id = $2 and used_at is null and expires_at > $3`,
			nonce, connectionID, n.host.Now())
		if err != nil {
			return err
		}
		if used.RowsAffected() == 0 {
			return hub.Invalid("body.code", "was used before or has expired: read the connection's QR code again")
		}
		_, err = tx.Exec(ctx, `insert into sandbox_sessions (connection_id, number, state, created_at) values ($1, $2, $3, $4)
			on conflict (connection_id) do update set number = excluded.number, state = excluded.state`, connectionID, number, stateOnline, n.host.Now())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("pairing: %w", err)
	}
	if err := n.sink.ChangeConnection(ctx, driver.ConnectionChange{ConnectionID: connectionID, Status: chat.ConnectionConnected, Number: number}); err != nil {
		return connectionID, err
	}
	return connectionID, n.deliverWaiting(ctx, number)
}

// parseCode returns what the text of a QR code says.
func parseCode(code string) (connectionID int64, nonce string, ok bool) {
	query, ok := strings.CutPrefix(code, qrScheme+"?")
	if !ok {
		return 0, "", false
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, "", false
	}
	connectionID, err = strconv.ParseInt(values.Get("c"), 10, 64)
	return connectionID, values.Get("n"), err == nil
}

// SendFromPhone sends a message from a phone to a connection's number. It returns nil once the
// product has stored it. A message to a number without an online session waits at the
// network.
func (n *Network) SendFromPhone(ctx context.Context, number string, m Message) (Message, error) {
	faults, err := n.phoneFaults(ctx, number)
	if err == nil {
		err = faults.delay(ctx)
	}
	if err != nil {
		return Message{}, err
	}
	m.ID, m.From, m.At, m.Ack = "sbx-"+rand.Text(), number, n.host.Now().UTC().Truncate(time.Microsecond), chat.AckServer
	m.isLost = happens(faults.DropPercent)
	m.IsWaiting = !m.isLost
	if err := n.insertMessage(ctx, m); err != nil || m.isLost {
		return m, err
	}
	if !faults.Reorder {
		return m, n.deliverFrom(ctx, faults, m)
	}
	waiting, err := n.waiting(ctx, m.To, "")
	if err != nil || len(waiting) < 2 { // it waits for a message that overtakes it
		return m, err
	}
	slices.Reverse(waiting)
	return m, n.deliver(ctx, faults, waiting)
}

// waitingMessage is a message that waits, with those who take part in its delivery.
type waitingMessage struct {
	Message
	senderName  string
	connections []int64 // online, paired with the recipient
}

// waiting returns the messages that wait for a number, in their order; of one sender, or of
// all for "".
func (n *Network) waiting(ctx context.Context, number, sender string) ([]waitingMessage, error) {
	query, args := `is_waiting and recipient = any($1)`, []any{chat.NumberVariants(number), stateOnline}
	if sender != "" {
		query, args = query+` and sender = $3`, append(args, sender)
	}
	rows, err := n.host.Pool.Query(ctx, `select `+messageColumns+`, coalesce((select p.name from sandbox_phones p where p.number = sender), '') as sender_name,
		array(select s.connection_id from sandbox_sessions s where s.number = any($1) and s.state = $2) as connections
		from sandbox_messages where `+query+` order by seq limit 1000`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m waitingMessage, err error) {
		err = row.Scan(append(m.columns(), &m.senderName, &m.connections)...)
		return m, err
	})
}

// deliverFrom delivers the messages that wait with the recipient and the sender of a message.
// Those of other senders are being delivered by their own requests.
func (n *Network) deliverFrom(ctx context.Context, faults Faults, m Message) error {
	waiting, err := n.waiting(ctx, m.To, m.From)
	if err != nil {
		return err
	}
	return n.deliver(ctx, faults, waiting)
}

// deliverWaiting delivers the messages that wait for a number.
func (n *Network) deliverWaiting(ctx context.Context, number string) error {
	messages, err := n.waiting(ctx, number, "")
	if err != nil {
		return err
	}
	faults, err := n.Faults(ctx)
	if err != nil {
		return err
	}
	return n.deliver(ctx, faults, messages)
}

// stalledAfter is the time after which a message is not being delivered by its own request
// any more.
const stalledAfter = 5 * time.Second

// DeliverStalled is a background job: it delivers what the product did not take when it was
// sent, because it stopped or its database was away. Messages that wait for another one to
// overtake them go on waiting.
func (n *Network) DeliverStalled(ctx context.Context, _ []byte) error {
	faults, err := n.Faults(ctx)
	if err != nil || faults.Reorder {
		return err
	}
	rows, err := n.host.Pool.Query(ctx, `select distinct m.recipient from sandbox_messages m where m.is_waiting and m.sent_at < $1
		and exists (select from sandbox_sessions where state = $2) limit 100`, n.host.Now().Add(-stalledAfter), stateOnline)
	if err != nil {
		return err
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, number := range numbers {
		err = errors.Join(err, n.deliverWaiting(ctx, number))
	}
	return err
}

// deliver passes messages to the online connections that are paired with their recipient.
// Without any they go on waiting.
func (n *Network) deliver(ctx context.Context, faults Faults, messages []waitingMessage) error {
	for _, m := range messages {
		if len(m.connections) == 0 {
			return nil
		}
		for _, id := range m.connections {
			in, err := n.incoming(ctx, faults, id, m)
			if err != nil {
				return err
			}
			for range faults.copies() {
				if err := n.sink.ReceiveMessage(ctx, in); err != nil {
					return fmt.Errorf("delivering a message: %w", err)
				}
			}
		}
		if _, err := n.host.Pool.Exec(ctx, `update sandbox_messages set is_waiting = false, ack = greatest(ack, $2) where id = $1`, m.ID, chat.AckDevice); err != nil {
			return err
		}
	}
	return nil
}

// incoming returns a message as a connection receives it.
func (n *Network) incoming(ctx context.Context, faults Faults, connectionID int64, m waitingMessage) (driver.Incoming, error) {
	in := driver.Incoming{ConnectionID: connectionID, RemoteID: m.ID, From: m.From, Name: m.senderName, Body: m.Body, At: m.At}
	if m.MediaURL != nil {
		in.Media = incomingMedia(*m.MediaURL)
	}
	if m.QuotedID != nil {
		in.QuotedRemoteID = *m.QuotedID
	}
	if !faults.LID {
		return in, nil
	}
	in.LID = LIDOf(m.From)
	isKnown := false
	err := n.host.Pool.QueryRow(ctx, `select exists (select from sandbox_messages where sender = $1 and recipient = $2 and id <> $3 and not is_waiting and not is_lost)`, m.From, m.To, m.ID).Scan(&isKnown)
	if isKnown {
		in.From = ""
	}
	return in, err
}

// messageColumns are the columns of a [Message].
const messageColumns = `seq, id, sender, recipient, body, media_url, quoted_id, ack, sent_at, is_waiting, is_lost`

func scanMessage(row pgx.CollectableRow) (m Message, err error) {
	err = row.Scan(m.columns()...)
	return m, err
}

// columns returns where [messageColumns] go.
func (m *Message) columns() []any {
	return []any{&m.Seq, &m.ID, &m.From, &m.To, &m.Body, &m.MediaURL, &m.QuotedID, &m.Ack, &m.At, &m.IsWaiting, &m.isLost}
}

// Conversation returns the messages that a phone has sent and received, oldest first: those
// after one of them, or the newest ones. Those that it has received have then arrived at the device.
func (n *Network) Conversation(ctx context.Context, number string, after int64) ([]Message, error) {
	if _, err := n.Inbox(ctx, number, after); err != nil {
		return nil, err
	}
	rows, err := n.host.Pool.Query(ctx, `select `+messageColumns+` from sandbox_messages
		where (recipient = any($1) and not is_lost or sender = any($1)) and seq > $2 order by case when $2 = 0 then -seq else seq end limit 500`, chat.NumberVariants(number), after)
	if err != nil {
		return nil, err
	}
	messages, err := pgx.CollectRows(rows, scanMessage)
	slices.SortFunc(messages, func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return messages, err
}

// CursorOf returns the cursor of a message that a phone has sent or received, by its id. It returns
// [pgx.ErrNoRows] if there is none.
func (n *Network) CursorOf(ctx context.Context, number, id string) (cursor int64, err error) {
	err = n.host.Pool.QueryRow(ctx, `select seq from sandbox_messages where id = $2 and (recipient = any($1) and not is_lost or sender = any($1)) order by seq desc limit 1`, chat.NumberVariants(number), id).Scan(&cursor)
	return cursor, err
}

// Inbox returns the messages that a phone has received, after one of them, oldest first.
// They have then arrived at the device.
func (n *Network) Inbox(ctx context.Context, number string, after int64) ([]Message, error) {
	if err := n.requirePhone(ctx, number); err != nil {
		return nil, err
	}
	rows, err := n.host.Pool.Query(ctx, `select `+messageColumns+` from sandbox_messages
		where recipient = any($1) and seq > $2 and not is_lost order by seq limit 200`, chat.NumberVariants(number), after)
	if err != nil {
		return nil, err
	}
	messages, err := pgx.CollectRows(rows, scanMessage)
	if err != nil {
		return nil, err
	}
	return messages, n.acknowledge(ctx, messages, chat.AckDevice)
}

// MarkInboxRead marks messages that a phone has received as read; no ids means all.
func (n *Network) MarkInboxRead(ctx context.Context, number string, ids []string) error {
	if err := n.requirePhone(ctx, number); err != nil {
		return err
	}
	if len(ids) == 0 {
		ids = nil
	}
	rows, err := n.host.Pool.Query(ctx, `select `+messageColumns+` from sandbox_messages
		where recipient = any($1) and not is_lost and ack < $2 and ($3::text[] is null or id = any($3)) order by seq`, chat.NumberVariants(number), chat.AckRead, ids)
	if err != nil {
		return err
	}
	messages, err := pgx.CollectRows(rows, scanMessage)
	if err != nil {
		return err
	}
	return n.acknowledge(ctx, messages, chat.AckRead)
}

// acknowledge raises the acks of messages and sends the receipts to their senders'
// connections.
func (n *Network) acknowledge(ctx context.Context, messages []Message, ack chat.Ack) error {
	faults, err := n.Faults(ctx)
	if err != nil {
		return err
	}
	bySender := make(map[string][]string)
	for i := range messages {
		if ack.Follows(messages[i].Ack) {
			messages[i].Ack = ack
			bySender[messages[i].From] = append(bySender[messages[i].From], messages[i].ID)
		}
	}
	for sender, ids := range bySender {
		var connectionID int64
		err := n.host.Pool.QueryRow(ctx, `select connection_id from sandbox_sessions where number = $1 order by connection_id limit 1`, sender).Scan(&connectionID)
		if errors.Is(err, pgx.ErrNoRows) { // the connection was logged out
			continue
		}
		if err == nil {
			for range faults.copies() {
				err = errors.Join(err, n.sink.ReceiveReceipt(ctx, driver.Receipt{ConnectionID: connectionID, RemoteIDs: ids, Ack: ack}))
			}
		}
		if err == nil {
			err = n.setAck(ctx, ids, ack)
		}
		if err != nil {
			return fmt.Errorf("sending receipts: %w", err)
		}
	}
	return nil
}

func (n *Network) setAck(ctx context.Context, ids []string, ack chat.Ack) error {
	_, err := n.host.Pool.Exec(ctx, `update sandbox_messages set ack = $2 where id = any($1) and ack < $2`, ids, ack)
	return err
}

func (n *Network) insertMessage(ctx context.Context, m Message) error {
	_, err := n.host.Pool.Exec(ctx, `insert into sandbox_messages (id, sender, recipient, body, media_url, quoted_id, sent_at, is_waiting, is_lost)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing`, m.ID, m.From, m.To, m.Body, m.MediaURL, m.QuotedID, m.At, m.IsWaiting, m.isLost)
	return err
}

// requirePhone returns an error for callers where there is no such phone.
func (n *Network) requirePhone(ctx context.Context, number string) error {
	var exists bool
	err := n.host.Pool.QueryRow(ctx, `select exists (select from sandbox_phones where number = $1)`, number).Scan(&exists)
	if err == nil && !exists {
		return hub.NotFound("Phone")
	}
	return err
}

// session returns the number that a connection is paired with, or [pgx.ErrNoRows].
func (n *Network) session(ctx context.Context, connectionID int64) (number, state string, err error) {
	err = n.host.Pool.QueryRow(ctx, `select number, state from sandbox_sessions where connection_id = $1`, connectionID).Scan(&number, &state)
	return number, state, err
}
