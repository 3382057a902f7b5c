package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"
)

const (
	prefix       = "hub:limit"            // of the keys in Redis
	redisTimeout = 100 * time.Millisecond // longest wait for one decision
	downTime     = time.Second            // until a failed Redis is tried again
	cleanUpEvery = time.Minute            // how often the local counters are tidied
)

// errDown is returned for a failure that another request has already reported.
var errDown = errors.New("found Redis down a moment ago")

// Config is where a [Limiter] counts.
type Config struct {
	Redis           *redis.Options // nil = only in this process
	Installation    string         // in the keys of the counters: other installations may use the same Redis
	Log             *slog.Logger   // logs once when Redis is lost and once when it is back
	OnLocalDecision func()         // called for each decision made here because Redis is down; may be nil
}

// Limiter counts requests. It is safe for concurrent use.
type Limiter struct {
	log     *slog.Logger
	onLocal func()
	now     func() time.Time

	local   limiter.Store
	buckets buckets
	client  *redis.Client // nil = only in this process
	timeout time.Duration // longest wait of one decision for Redis
	prefix  string        // of the keys in Redis

	mu             sync.Mutex                    // held while store is made
	store          atomic.Pointer[limiter.Store] // counts in Redis; nil until Redis has answered once
	retry          atomic.Int64                  // unix nanoseconds when Redis is tried again; 0 = it works
	availableSince atomic.Int64                  // unix nanoseconds when Redis last came back; 0 = it was never away
}

// Result is the decision about one request.
type Result struct {
	Allowed    bool
	Limit      int64         // requests in Period; 0 = no limit
	Remaining  int64         // of Limit in the running period
	Period     time.Duration // of the rate
	ResetAfter time.Duration // until the running period ends: whole seconds rounded up, at most Period
}

// New returns a limiter. It does not wait for Redis, which may as well come up later.
// The limiter keeps connections of its own, with short time-outs and no retries.
func New(cfg Config) *Limiter { return newLimiter(cfg, redisTimeout) }

func newLimiter(cfg Config, timeout time.Duration) *Limiter {
	l := &Limiter{
		timeout: timeout,
		log:     cfg.Log, onLocal: cfg.OnLocalDecision, now: time.Now, prefix: prefix + ":" + cfg.Installation,
		local: memory.NewStoreWithOptions(limiter.StoreOptions{Prefix: prefix, CleanUpInterval: cleanUpEvery}),
	}
	if cfg.Redis != nil {
		options := *cfg.Redis
		options.ContextTimeoutEnabled = true
		options.DialTimeout, options.PoolTimeout = timeout, timeout
		options.ReadTimeout, options.WriteTimeout = timeout, timeout
		options.MaxRetries, options.DialerRetries = -1, 1
		l.client = redis.NewClient(&options)
	}
	return l
}

// Close closes the connections to Redis.
func (l *Limiter) Close() error {
	if l.client == nil {
		return nil
	}
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("closing the limiter's connections: %w", err)
	}
	return nil
}

// Allow counts one request of key against the limit called name ("key", "login")
// and reports whether it is within rate. Refused requests count too but do not make
// the period longer.
func (l *Limiter) Allow(ctx context.Context, name, key string, rate Rate) Result {
	if rate.Limit == 0 {
		return Result{Allowed: true}
	}
	counter := name + ":" + key
	want := limiter.Rate{Limit: rate.Limit, Period: rate.Period}
	// Counted here as well, so that the count does not begin anew when Redis is lost, nor
	// when it is back.
	local, err := l.local.Get(ctx, counter, want)
	if l.client != nil {
		if state, ok := l.shared(ctx, counter, want); ok {
			if err == nil && l.redisLacks(local, state, rate) {
				state = local
			}
			return l.result(rate, state)
		}
		if l.onLocal != nil {
			l.onLocal()
		}
	}
	if err != nil { // cannot happen: the memory store never fails
		return Result{Allowed: true}
	}
	return l.result(rate, local)
}

// Peek returns the state of key's limit without counting a request. Where Redis does not
// answer it is that of this process.
func (l *Limiter) Peek(ctx context.Context, name, key string, rate Rate) Result {
	if rate.Limit == 0 {
		return Result{Allowed: true}
	}
	counter := name + ":" + key
	want := limiter.Rate{Limit: rate.Limit, Period: rate.Period}
	local, err := l.local.Peek(ctx, counter, want)
	if store := l.store.Load(); store != nil && l.client != nil {
		var state limiter.Context
		isShared := l.withRedis(ctx, func(limited context.Context, _ bool) (err error) {
			state, err = (*store).Peek(limited, counter, want)
			return err
		})
		if isShared {
			if err == nil && l.redisLacks(local, state, rate) {
				state = local
			}
			return l.result(rate, state)
		}
	}
	if err != nil { // cannot happen: the memory store never fails
		return Result{Allowed: true, Limit: rate.Limit, Remaining: rate.Limit, Period: rate.Period}
	}
	return l.result(rate, local)
}

// redisLacks reports whether this process's count is the right one: Redis lacks what was counted
// while it was down, until the period after that has ended.
func (l *Limiter) redisLacks(local, shared limiter.Context, rate Rate) bool {
	return stricter(local, shared) && l.now().Before(time.Unix(0, l.availableSince.Load()).Add(rate.Period))
}

// stricter reports whether a count leaves less than another one.
func stricter(a, b limiter.Context) bool {
	return a.Reached && !b.Reached || a.Reached == b.Reached && a.Remaining < b.Remaining
}

// result completes the state of a store. Its end of the period is in whole seconds,
// rounded down: the real one may be up to a second later.
func (l *Limiter) result(rate Rate, state limiter.Context) Result {
	wait := time.Unix(state.Reset+1, 0).Sub(l.now())
	wait = (wait + time.Second - 1).Truncate(time.Second)
	return Result{
		Allowed:    !state.Reached,
		Limit:      rate.Limit,
		Remaining:  state.Remaining,
		Period:     rate.Period,
		ResetAfter: max(time.Second, min(wait, rate.Period)),
	}
}

// shared counts in Redis; ok is false if Redis is down.
func (l *Limiter) shared(ctx context.Context, counter string, rate limiter.Rate) (state limiter.Context, ok bool) {
	ok = l.withRedis(ctx, func(limited context.Context, probing bool) (err error) {
		state, err = l.count(limited, counter, rate, probing)
		return err
	})
	return state, ok
}

// withRedis makes a request to Redis; ok is false if Redis is down. After a failure no request
// is made for a while; then one request tries Redis and the others do not wait.
func (l *Limiter) withRedis(ctx context.Context, request func(limited context.Context, probing bool) error) (ok bool) {
	retry := l.retry.Load()
	if retry != 0 {
		now := l.now()
		if now.UnixNano() < retry || !l.retry.CompareAndSwap(retry, now.Add(downTime).UnixNano()) {
			return false
		}
	}
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	err := request(limited, retry != 0)
	switch {
	case err == nil:
		if retry != 0 && l.retry.Swap(0) != 0 {
			l.availableSince.Store(l.now().UnixNano())
			l.log.Info("rate limits are counted in Redis again")
		}
		return true
	case ctx.Err() == nil:
		l.markDown(err)
	}
	return false
}

// markDown records that Redis is down and logs the transition.
func (l *Limiter) markDown(err error) {
	if l.retry.Swap(l.now().Add(downTime).UnixNano()) == 0 {
		l.log.Warn("rate limits are counted per process: Redis does not respond", "error", err)
	}
}

// count counts in Redis, making the store on first use: that loads scripts, which
// needs a Redis that answers. probing reports whether Redis was down before.
func (l *Limiter) count(ctx context.Context, counter string, rate limiter.Rate, probing bool) (limiter.Context, error) {
	if store := l.store.Load(); store != nil {
		return (*store).Get(ctx, counter, rate)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store.Load() == nil {
		if !probing && l.retry.Load() != 0 { // another request has just failed to make it
			return limiter.Context{}, errDown
		}
		store, err := redisstore.NewStoreWithOptions(l.client, limiter.StoreOptions{Prefix: l.prefix})
		if err != nil {
			l.markDown(err) // before requests that wait for the lock try the same
			return limiter.Context{}, err
		}
		l.store.Store(&store)
	}
	return (*l.store.Load()).Get(ctx, counter, rate)
}
