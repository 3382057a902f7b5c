// Package load generates load: it publishes events or sends webhooks, and records every POST.
package load

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/records"
)

// RefusalBackoff is the pause of a connection after a status other than 2xx.
const RefusalBackoff = 10 * time.Millisecond

// ResponseTimeout is the timeout of one POST.
const ResponseTimeout = 30 * time.Second

// Spec describes a load.
type Spec struct {
	URL          string
	Keys         []string      // X-Integration-Key, one after the other; none for the floor
	Secret       string        // of webhooks; empty: events are published instead
	EventType    string        // of webhooks
	Connections  int           // keep-alive connections, each with one POST at a time
	Events       int           // how many to send
	Rate         float64       // events per second; 0 = closed loop, each response is followed by the next POST
	Duration     time.Duration // stop earlier, after this time; 0 = no limit
	Size         int           // bytes of each data object
	First        uint64        // number of the first event
	OrderingKeys int           // of the events, in turn; 0: they have none
}

// Generate sends the load and returns one record for each POST, in the order of
// their numbers. It stops early when ctx ends.
func Generate(ctx context.Context, l Spec) ([]records.Sent, error) {
	target, err := url.Parse(l.URL)
	if err != nil {
		return nil, fmt.Errorf("reading url: %w", err)
	}
	client := &fasthttp.HostClient{
		Addr:                          target.Host,
		IsTLS:                         target.Scheme == "https",
		MaxConns:                      l.Connections,
		ReadTimeout:                   ResponseTimeout,
		WriteTimeout:                  ResponseTimeout,
		NoDefaultUserAgentHeader:      true,
		DisableHeaderNamesNormalizing: true,
		MaxIdemponentCallAttempts:     1, // a POST sent twice would be a duplicate of our own making
	}
	if l.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.Duration)
		defer cancel()
	}
	sent := make([]records.Sent, l.Events)
	schedule := newSchedule(ctx, l)
	var workers sync.WaitGroup
	for range l.Connections {
		workers.Go(func() {
			sender := newSender(client, l)
			for i, due := range schedule {
				sent[i] = sender.send(l.First+uint64(i), due)
				if !sent[i].Accepted() {
					time.Sleep(RefusalBackoff)
				}
			}
		})
	}
	workers.Wait()
	kept := sent[:0] // an early stop leaves gaps at the end
	for _, s := range sent {
		if s.SentAt != 0 {
			kept = append(kept, s)
		}
	}
	return kept, nil
}
