package sessions

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"integrationhub/messaging/internal/store"
)

const (
	maxBusy  = 8                // connections at the same time: networks that do not answer are slow
	findTime = 2 * time.Second  // between two looks for connections while some are being worked on
	runTime  = 40 * time.Second // of a job, in which work begins; a minute is all it has
)

// findDue finds the connections that are due for a job of this package.
type findDue func() ([]store.Connection, error)

// forEach runs work for the connections that find returns, several at the same time, until none is
// left. While one takes long, the others that become due meanwhile have their turns.
func forEach(ctx context.Context, find findDue, work func(store.Connection)) error {
	waiting, err := find()
	if err != nil {
		return fmt.Errorf("finding connections: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(findTime)
	defer tick.Stop()
	busy, finished := make(map[int64]bool), make(chan int64, maxBusy)
	for end := time.Now().Add(runTime); ; {
		for ; len(waiting) > 0 && len(busy) < maxBusy && time.Now().Before(end); waiting = waiting[1:] {
			connection := waiting[0]
			busy[connection.ID] = true
			running.Go(func() {
				work(connection)
				finished <- connection.ID
			})
		}
		if len(busy) == 0 {
			return nil
		}
		select {
		case id := <-finished:
			delete(busy, id)
		case <-tick.C:
			if waiting, err = find(); err != nil {
				return fmt.Errorf("finding connections: %w", err)
			}
			waiting = slices.DeleteFunc(waiting, func(c store.Connection) bool { return busy[c.ID] })
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
