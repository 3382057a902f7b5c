package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// reconnectPause is the pause before a broken connection is opened again; the sweep finds due
// deliveries meanwhile.
const reconnectPause = 2 * time.Second

// Listen wakes the targets named by notifications on a channel of the database, until
// ctx ends.
func (d *Dispatcher) Listen(ctx context.Context, channel string) {
	failing := false
	for ctx.Err() == nil {
		err := d.listen(ctx, channel, func() { failing = false })
		if ctx.Err() != nil {
			return
		}
		if !failing {
			d.Logger.Warn("listening for due deliveries failed; the sweep finds them meanwhile", "error", err)
		}
		failing = true
		select {
		case <-ctx.Done():
		case <-time.After(reconnectPause):
		}
	}
}

func (d *Dispatcher) listen(ctx context.Context, channel string, onListening func()) error {
	conn, err := pgx.ConnectConfig(ctx, d.Pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	onListening()
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("waiting for a notification: %w", err)
		}
		if target, priorities, ok := parseDue(notification.Payload); ok {
			d.wake(target, priorities)
		}
	}
}
