package ledger

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

const (
	tailChannel = "hub:tail"
	tailBuffer  = 1024 // deliveries a slow listener may be behind before it misses some
	tailAskedOf = 2 * time.Second
)

// Tail tells listeners which deliveries just changed, in every process: through
// Redis where somebody elsewhere listens, in memory here. It is a view, not a
// queue: who is too slow misses some.
type Tail struct {
	rdb       redis.UniversalClient
	log       *slog.Logger
	self      uuid.UUID
	listeners atomic.Int64
	elsewhere atomic.Bool // somebody listens through Redis
	mu        sync.Mutex
	feeds     map[chan uuid.UUID]bool
}

// NewTail makes a tail; [Tail.Run] connects it with the other processes.
func NewTail(rdb redis.UniversalClient, log *slog.Logger) *Tail {
	return &Tail{rdb: rdb, log: log, self: uuid.New(), feeds: make(map[chan uuid.UUID]bool)}
}

// Changed tells of stored attempts. It costs next to nothing where nobody listens.
func (t *Tail) Changed(batch []delivery.Attempt) {
	if t.listeners.Load() > 0 {
		t.mu.Lock()
		for feed := range t.feeds {
			for i := range batch {
				offer(feed, batch[i].ID)
			}
		}
		t.mu.Unlock()
	}
	if t.elsewhere.Load() {
		message := make([]byte, 0, 16*(len(batch)+1))
		message = append(message, t.self[:]...)
		for i := range batch {
			message = append(message, batch[i].ID[:]...)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := t.rdb.Publish(ctx, tailChannel, message).Err(); err != nil {
			t.elsewhere.Store(false)
		}
	}
}

func offer(feed chan uuid.UUID, id uuid.UUID) {
	select {
	case feed <- id:
	default:
	}
}

// Listen gives the ids of deliveries as they change, until stop is called.
func (t *Tail) Listen() (feed <-chan uuid.UUID, stop func()) {
	ch := make(chan uuid.UUID, tailBuffer)
	t.mu.Lock()
	t.feeds[ch] = true
	t.mu.Unlock()
	t.listeners.Add(1)
	var once sync.Once
	return ch, func() {
		once.Do(func() {
			t.listeners.Add(-1)
			t.mu.Lock()
			delete(t.feeds, ch)
			t.mu.Unlock()
		})
	}
}

// Run listens to the other processes while somebody listens here, and asks now
// and then whether somebody listens there.
func (t *Tail) Run(ctx context.Context) {
	tick := time.NewTicker(tailAskedOf)
	defer tick.Stop()
	var subscription *redis.PubSub
	defer func() {
		if subscription != nil {
			_ = subscription.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch listening := t.listeners.Load() > 0; {
		case listening && subscription == nil:
			subscription = t.rdb.Subscribe(ctx, tailChannel)
			go t.relay(subscription.Channel())
		case !listening && subscription != nil:
			_ = subscription.Close()
			subscription = nil
		}
		own := int64(0)
		if subscription != nil {
			own = 1
		}
		counts, err := t.rdb.PubSubNumSub(ctx, tailChannel).Result()
		t.elsewhere.Store(err == nil && counts[tailChannel] > own)
	}
}

func (t *Tail) relay(messages <-chan *redis.Message) {
	for message := range messages {
		raw := []byte(message.Payload)
		if len(raw)%16 != 0 || len(raw) == 0 || uuid.UUID(raw[:16]) == t.self {
			continue
		}
		t.mu.Lock()
		for raw = raw[16:]; len(raw) > 0; raw = raw[16:] {
			for feed := range t.feeds {
				offer(feed, uuid.UUID(raw[:16]))
			}
		}
		t.mu.Unlock()
	}
}

// Matching reads those of the deliveries that a filter matches, in the order they changed.
func (r *Reader) Matching(ctx context.Context, f Filter, ids []uuid.UUID) ([]Item, error) {
	c, ok, err := f.conditions(ctx, r.pool)
	if err != nil || !ok {
		return nil, err
	}
	c.add("d.id = any(?::uuid[])", ids)
	found, err := readIDs(ctx, r.pool, "reading deliveries", `select d.id from hub.deliveries d where `+c.where(), c.args...)
	if err != nil {
		return nil, err
	}
	return r.inOrder(ctx, found)
}

// Now is the time by the database's clock, which attempts are stored by.
func (r *Reader) Now(ctx context.Context) (now time.Time, err error) {
	if err := r.pool.QueryRow(ctx, `select now()`).Scan(&now); err != nil {
		return now, fmt.Errorf("asking the time: %w", err)
	}
	return now, nil
}

// attemptsBack is how many attempts are looked at, newest first, for what changed.
const attemptsBack = 2000

// Attempted reads what matches and had an attempt stored since a moment, in the order
// it changed; of more than limit, what changed last. It looks at a bounded number of
// attempts. Each delivery is looked up by its id: the tables joined as a whole would be
// read as a whole.
func (r *Reader) Attempted(ctx context.Context, f Filter, since time.Time, limit int) ([]Item, error) {
	attempted, items, err := r.changed(ctx, f, since, limit)
	return slices.DeleteFunc(items, func(it Item) bool {
		return it.Status == delivery.Pending.String() && !slices.Contains(attempted, it.ID)
	}), err
}

// Since reads what matches and was accepted or attempted since a moment, in the order
// it changed; of more than limit, what changed last.
func (r *Reader) Since(ctx context.Context, f Filter, at time.Time, limit int) ([]Item, error) {
	if err := r.unfold(ctx); err != nil {
		return nil, err
	}
	_, items, err := r.changed(ctx, f, at, limit)
	return items, err
}

// changed reads what changed since a moment, and tells what of it has attempts in the
// table of attempts. A first attempt that delivers has none there, but it is made
// within a lease of the delivery being accepted.
func (r *Reader) changed(ctx context.Context, f Filter, at time.Time, limit int) (attempted []uuid.UUID, items []Item, err error) {
	if attempted, err = r.attempted(ctx, f, at, limit); err != nil {
		return nil, nil, err
	}
	floor := logid.Floor(at.Add(-delivery.Lease))
	p, ok, err := f.plan(ctx, r.pool, r.effort, &floor, nil)
	if err != nil || !ok {
		return nil, nil, err
	}
	accepted, err := r.find(ctx, &p, limit)
	if err != nil {
		return nil, nil, err
	}
	items, err = r.inOrder(ctx, slices.Concat(attempted, accepted))
	items = slices.DeleteFunc(items, func(it Item) bool { return it.ChangedAt.Before(at) })
	return attempted, items[max(0, len(items)-limit):], err
}

func (r *Reader) attempted(ctx context.Context, f Filter, since time.Time, limit int) ([]uuid.UUID, error) {
	c, ok, err := f.conditions(ctx, r.pool)
	if err != nil || !ok {
		return nil, err
	}
	statement := c.numbered(`
		with recent as (
			select delivery_id, stored_at from hub.attempts where stored_at >= ? order by stored_at desc limit ?),
		latest as (
			select delivery_id, max(stored_at) as at from recent group by delivery_id)
		select d.id from latest l, lateral (
			select d.id from hub.deliveries d where d.id = l.delivery_id and `+c.where()+` limit 1) d
		order by l.at desc limit ?`, since, attemptsBack, limit)
	return readIDs(ctx, r.pool, "reading attempts", statement, c.args...)
}

// inOrder reads deliveries in the order they changed, each once.
func (r *Reader) inOrder(ctx context.Context, ids []uuid.UUID) ([]Item, error) {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) })
	items, err := r.items(ctx, slices.Compact(ids))
	slices.SortStableFunc(items, func(a, b Item) int { return a.ChangedAt.Compare(b.ChangedAt) })
	return items, err
}
