package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// publishFlags are the flags of `hub publish`.
type publishFlags struct {
	key, data, idempotencyKey, batch string
	in                               client.EventInput
}

func newPublish(a *app) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish --type TYPE --data JSON",
		Short: "Publish an event, or a file of them, with a tenant's key",
		Long: `Publish an event with a tenant's key from HUB_KEY. It prints the event's id once
the hub has stored it.

--batch reads one JSON object per line with the fields event_type, data and, if
wanted, correlation_id, ordering_key and id. Up to 500 lines go in one call, all or nothing.`,
		Example: `  hub publish --type contact.created --data '{"name":"Ana"}'
  hub publish --type contact.created --data @contact.json --idempotency-key import-17
  hub publish --batch events.jsonl`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			key := a.setting(f.key, "HUB_KEY")
			if key == "" {
				return &failure{code: exitAuth, err: errors.New("publishing needs a tenant's key"),
					hint: "export HUB_KEY=$(hub keys create --tenant TENANT -q)"}
			}
			c, err := a.keyClient(key)
			if err != nil {
				return err
			}
			if f.batch != "" {
				return a.publishBatch(cmd, c, f.batch)
			}
			return a.publishOne(cmd.Context(), c, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "the tenant's key, @file or - (HUB_KEY, safer)")
	flags.StringVar(&f.in.EventType, "type", "", "event type, e.g. contact.created")
	flags.StringVar(&f.data, "data", "{}", "the event's data: JSON, @file or - for stdin")
	flags.StringVar(&f.in.ID, "id", "", "event id of your own (evt_ and 16 hex digits): publishing it twice is safe")
	flags.StringVar(&f.in.CorrelationID, "correlation-id", "", "ties this event to others")
	flags.StringVar(&f.in.OrderingKey, "ordering-key", "", "what it is about: ordered endpoints get the events of one key in their order")
	flags.StringVar(&f.idempotencyKey, "idempotency-key", "", "any text that is the same when you try again: publishing twice is safe")
	flags.StringVar(&f.batch, "batch", "", "publish a file of JSON lines, or - for stdin")
	for _, flag := range []string{"type", "data", "id", "correlation-id", "ordering-key", "idempotency-key"} {
		cmd.MarkFlagsMutuallyExclusive("batch", flag)
	}
	return cmd
}

func (a *app) publishOne(ctx context.Context, c *client.Client, f publishFlags) error {
	if f.in.EventType == "" {
		return usagef("--type is needed, e.g. --type contact.created (or --batch)")
	}
	data, err := a.readData(f.data)
	if err != nil {
		return err
	}
	f.in.Data = data
	reply, err := c.Publish(ctx, f.in, f.idempotencyKey)
	if err != nil {
		return err
	}
	return a.printPublication(reply)
}

// printPublication prints the id of an accepted event.
func (a *app) printPublication(reply client.Reply[client.PublishResult]) error {
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	a.print("%s", terminal.Printable(reply.Value.ID))
	switch n := reply.Value.Deliveries; n {
	case 0:
		a.note("stored, but nobody is subscribed to it")
	default:
		a.note("stored for %s; see: hub deliveries show %s", countText(n, "receiver"), terminal.Printable(reply.Value.ID))
	}
	return nil
}

// countText returns a number and a noun in singular or plural.
func countText(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// dataMax bounds what is read of --data, in bytes. The hub accepts less.
const dataMax = 2 << 20

// readData returns the JSON of --data, which may be @file or -.
func (a *app) readData(value string) (json.RawMessage, error) {
	raw := []byte(value)
	if value == "-" || strings.HasPrefix(value, "@") {
		reader, closeInput, err := a.source(strings.TrimPrefix(value, "@"))
		if err != nil {
			return nil, err
		}
		defer closeInput()
		if raw, err = io.ReadAll(io.LimitReader(reader, dataMax+1)); err != nil {
			return nil, fmt.Errorf("reading --data: %w", err)
		}
		if len(raw) > dataMax {
			return nil, usagef("--data is larger than the hub takes (1 MiB)")
		}
	}
	if err := checkJSON(raw); err != nil {
		return nil, usagef("--data is not JSON: %w", err)
	}
	return raw, nil
}

// source opens a file, or stdin for "-".
func (a *app) source(name string) (reader io.Reader, closeInput func(), err error) {
	if name == "-" {
		return a.in, func() {}, nil
	}
	file, err := os.Open(a.path(name))
	if err != nil {
		return nil, nil, usagef("opening the file: %w", err)
	}
	return file, func() { _ = file.Close() }, nil
}

// checkJSON returns a syntax error with its offset.
func checkJSON(raw []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(raw, &value)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w at character %d", err, syntax.Offset)
	}
	return err
}
