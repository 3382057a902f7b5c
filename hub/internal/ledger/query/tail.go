package query

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"integrationhub/hub/internal/delivery"
)

const (
	tailChannel      = "hub:tail" // begins the name of the channel
	tailBuffer       = 1024       // deliveries a slow listener may be behind before it misses some
	tailPollInterval = 2 * time.Second
)

// Tail sends listeners the ids of deliveries that just changed in any process: through
// Redis from other processes, in memory from this one. It is a view, not a queue: slow
// listeners miss some.
type Tail struct {
	rdb       redis.UniversalClient
	channel   string
	log       *slog.Logger
	self      uuid.UUID
	listeners atomic.Int64
	elsewhere atomic.Bool // another process listens
	mu        sync.Mutex
	feeds     map[chan uuid.UUID]bool
}

// NewTail returns a tail; [Tail.Run] connects it with the other processes of its
// installation.
func NewTail(rdb redis.UniversalClient, installation string, log *slog.Logger) *Tail {
	return &Tail{rdb: rdb, channel: tailChannel + ":" + installation, log: log, self: uuid.New(), feeds: make(map[chan uuid.UUID]bool)}
}

// Publish announces stored attempts. It costs next to nothing without listeners.
func (t *Tail) Publish(batch []delivery.AttemptResult) {
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
		if err := t.rdb.Publish(ctx, t.channel, message).Err(); err != nil {
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

// Subscribe returns the ids of deliveries as they change, until stop is called.
func (t *Tail) Subscribe() (feed <-chan uuid.UUID, stop func()) {
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

// Run subscribes to the other processes while there are listeners here, and polls
// whether other processes listen.
func (t *Tail) Run(ctx context.Context) {
	tick := time.NewTicker(tailPollInterval)
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
			subscription = t.rdb.Subscribe(ctx, t.channel)
			go t.relay(subscription.Channel())
		case !listening && subscription != nil:
			_ = subscription.Close()
			subscription = nil
		}
		ownSubscriptions := int64(0)
		if subscription != nil {
			ownSubscriptions = 1
		}
		counts, err := t.rdb.PubSubNumSub(ctx, t.channel).Result()
		t.elsewhere.Store(err == nil && counts[t.channel] > ownSubscriptions)
	}
}

func (t *Tail) relay(messages <-chan *redis.Message) {
	for message := range messages {
		ids := []byte(message.Payload)
		if len(ids)%16 != 0 || len(ids) == 0 || uuid.UUID(ids[:16]) == t.self {
			continue
		}
		t.mu.Lock()
		for ids = ids[16:]; len(ids) > 0; ids = ids[16:] {
			for feed := range t.feeds {
				offer(feed, uuid.UUID(ids[:16]))
			}
		}
		t.mu.Unlock()
	}
}
