package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newEventTypes(a *app) *cobra.Command {
	return group("event-types", "Describe the types of events: JSON Schemas and examples",
		newEventTypesList(a), newEventTypesShow(a), newEventTypesCreate(a), newEventTypesUpdate(a), newEventTypesDelete(a), newEventTypesOpenAPI(a))
}

// contentFlags holds the flags of a type's settings.
type contentFlags struct {
	description, schema, example string
	deprecated                   bool
}

var eventTypeSettings = []string{"description", "schema", "example", "deprecated"}

func (f *contentFlags) addTo(cmd *cobra.Command, removal string) {
	cmd.Flags().StringVar(&f.description, "description", "", "what happened, for receivers")
	cmd.Flags().StringVar(&f.schema, "schema", "", "file with the JSON Schema of the data, or -"+removal)
	cmd.Flags().StringVar(&f.example, "example", "", "file with an example of the data, or -"+removal)
	cmd.Flags().BoolVar(&f.deprecated, "deprecated", false, "receivers should not begin to use it")
}

// read returns the settings: of a flag that was not set the current one.
func (f *contentFlags) read(cmd *cobra.Command, a *app, current client.EventType) (client.EventTypeUpdate, error) {
	settings := client.EventTypeUpdate{Description: current.Description, Schema: current.Schema, Example: current.Example, Deprecated: current.Deprecated}
	if f.schema == "-" && f.example == "-" {
		return settings, usagef("--schema and --example cannot both be the standard input")
	}
	if cmd.Flags().Changed("description") {
		settings.Description = f.description
	}
	if cmd.Flags().Changed("deprecated") {
		settings.Deprecated = f.deprecated
	}
	for _, file := range []struct {
		flag, name string
		to         *json.RawMessage
	}{{"schema", f.schema, &settings.Schema}, {"example", f.example, &settings.Example}} {
		if !cmd.Flags().Changed(file.flag) {
			continue
		}
		if *file.to = nil; file.name == "" {
			continue
		}
		var err error
		if *file.to, err = a.readJSON(file.flag, file.name); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

// neededProduct refuses an empty --product.
func neededProduct(product string) error {
	if product == "" {
		return usagef("--product is needed; see: hub products list")
	}
	return nil
}

// findEventType returns the event type with an id, or with a name in the product.
func findEventType(ctx context.Context, c *client.Client, argument, product string) (client.Reply[client.EventType], error) {
	if _, err := uuid.Parse(argument); err == nil {
		return c.EventType(ctx, argument)
	}
	if err := neededProduct(product); err != nil {
		return client.Reply[client.EventType]{}, err
	}
	for cursor := ""; ; {
		page, err := c.EventTypes(ctx, product, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return client.Reply[client.EventType]{}, err
		}
		for _, t := range page.Value.Items {
			if t.Name == argument {
				return c.EventType(ctx, t.ID)
			}
		}
		if page.Value.NextCursor == nil {
			return client.Reply[client.EventType]{}, &failure{
				code: exitNotFound, err: fmt.Errorf("%s has no event type %s", terminal.Printable(product), terminal.Printable(argument)),
				hint: "see: hub event-types list",
			}
		}
		cursor = *page.Value.NextCursor
	}
}

func newEventTypesList(a *app) *cobra.Command {
	var p paging
	var product string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List event types",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if product != "" {
				if _, err := titleOf(cmd.Context(), c, product); err != nil {
					return err
				}
			}
			return listing[client.EventType]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.EventType]], error) {
					return c.EventTypes(ctx, product, page)
				},
				columns: []column{{title: "product"}, {title: "name"}, {title: "schema"}, {title: "example"}, {title: "deprecated"}, {title: "description"}},
				row: func(t client.EventType) []string {
					return []string{t.Product, t.Name, yesNo(hasJSON(t.Schema)), yesNo(hasJSON(t.Example)), yesNo(t.Deprecated), t.Description}
				},
				id: func(t client.EventType) string { return t.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&product, "product", "", "only of this product")
	p.addTo(cmd)
	return cmd
}

func hasJSON(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// printEventType prints a type.
func (a *app) printEventType(reply client.Reply[client.EventType]) error {
	t := reply.Value
	return a.printCreated(reply.Raw, t.ID, "id", t.ID, "product", t.Product, "name", t.Name, "description", t.Description, "deprecated", yesNo(t.Deprecated),
		"read only", yesNo(t.ReadOnly), "schema", compactJSON(t.Schema), "example", compactJSON(t.Example))
}

func compactJSON(value json.RawMessage) string {
	var compact bytes.Buffer
	if !hasJSON(value) || json.Compact(&compact, value) != nil {
		return ""
	}
	return compact.String()
}

func newEventTypesShow(a *app) *cobra.Command {
	var product string
	cmd := &cobra.Command{
		Use:     "show TYPE",
		Short:   "Show an event type",
		Example: `  hub event-types show order.created --product crm`,
		Args:    exactly("the type's id, or its name with --product"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := findEventType(cmd.Context(), c, args[0], product)
			if err != nil {
				return err
			}
			return a.printEventType(reply)
		},
	}
	cmd.Flags().StringVar(&product, "product", "", "product of the type")
	return cmd
}

func newEventTypesCreate(a *app) *cobra.Command {
	var in client.EventTypeInput
	var content contentFlags
	cmd := &cobra.Command{
		Use:   "create NAME --product PRODUCT",
		Short: "Describe a type of an external product's events",
		Example: `  hub event-types create order.created --product crm --schema order.schema.json --example order.json
  hub event-types create order.paid --product crm --description "An order was paid"`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in.Name = args[0]
			if err := neededProduct(in.Product); err != nil {
				return err
			}
			if in.EventTypeUpdate, err = content.read(cmd, a, client.EventType{}); err != nil {
				return err
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.CreateEventType(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.printEventType(reply)
		},
	}
	cmd.Flags().StringVar(&in.Product, "product", "", "name of the external product")
	content.addTo(cmd, "")
	return cmd
}

func newEventTypesUpdate(a *app) *cobra.Command {
	var product string
	var content contentFlags
	cmd := &cobra.Command{
		Use:   "update TYPE",
		Short: "Change an event type; what is not given stays",
		Example: `  hub event-types update order.created --product crm --schema order.schema.json
  hub event-types update order.created --product crm --deprecated`,
		Args: exactly("the type's id, or its name with --product"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.ContainsFunc(eventTypeSettings, cmd.Flags().Changed) {
				return usagef("nothing to change: give --%s", strings.Join(eventTypeSettings, ", --"))
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			current, err := findEventType(cmd.Context(), c, args[0], product)
			if err != nil {
				return err
			}
			settings, err := content.read(cmd, a, current.Value)
			if err != nil {
				return err
			}
			reply, err := c.UpdateEventType(cmd.Context(), current.Value.ID, settings)
			if err != nil {
				return err
			}
			return a.printEventType(reply)
		},
	}
	cmd.Flags().StringVar(&product, "product", "", "product of the type")
	content.addTo(cmd, "; '' removes it")
	return cmd
}

func newEventTypesDelete(a *app) *cobra.Command {
	var product string
	cmd := &cobra.Command{
		Use:   "delete TYPE…",
		Short: "Delete event types; events of their names are published as before",
		Args:  atLeastOne("event type's id, or its name with --product"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(argument string) error {
				found, err := findEventType(cmd.Context(), c, argument, product)
				if err != nil {
					return err
				}
				if err := c.DeleteEventType(cmd.Context(), found.Value.ID); err != nil {
					return err
				}
				a.note("deleted %s", terminal.Printable(found.Value.Name))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&product, "product", "", "product of the types")
	return cmd
}

func newEventTypesOpenAPI(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "openapi PRODUCT",
		Short: "Print the OpenAPI 3.1 document of a product's webhooks",
		Long: `Print an OpenAPI 3.1 document with a webhook for each event type of the product: envelope,
data and signature headers. Receivers generate their types from it.`,
		Example: `  hub event-types openapi crm > crm.webhooks.json`,
		Args:    exactly("PRODUCT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.EventTypeDocument(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printRaw(reply.Raw)
		},
	}
}

// readJSON reads JSON from a file, or - for the standard input.
func (a *app) readJSON(flag, name string) (json.RawMessage, error) {
	reader, closeInput, err := a.source(name)
	if err != nil {
		return nil, err
	}
	defer closeInput()
	raw, err := io.ReadAll(io.LimitReader(reader, dataMax+1))
	if err != nil {
		return nil, fmt.Errorf("reading --%s: %w", flag, err)
	}
	if !json.Valid(raw) {
		return nil, usagef("%s is not JSON", name)
	}
	return raw, nil
}
