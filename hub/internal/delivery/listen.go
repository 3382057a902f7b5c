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

// DueChannel is the NOTIFY channel for targets with due deliveries. The payload is that of
// [FormatDue], or [ErasureNotice].
const DueChannel = "hub_due"

// ErasureNotice is the payload of a notification that a deletion was accepted, or that events
// which processes have leased were erased.
const ErasureNotice = "erasure"

// Listen wakes the targets named by notifications on [DueChannel] of the database, and calls
// onErasure for those of an erasure, until ctx ends.
func (d *Dispatcher) Listen(ctx context.Context, onErasure func()) {
	failing := false
	for ctx.Err() == nil {
		err := d.listen(ctx, onErasure, func() { failing = false })
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

func (d *Dispatcher) listen(ctx context.Context, onErasure, onListening func()) error {
	conn, err := pgx.ConnectConfig(ctx, d.Pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{DueChannel}.Sanitize()); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	onListening()
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("waiting for a notification: %w", err)
		}
		if notification.Payload == ErasureNotice {
			onErasure()
		} else if target, priorities, ok := parseDue(notification.Payload); ok {
			d.wake(target, priorities)
		}
	}
}
