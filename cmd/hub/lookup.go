package main

import (
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newLookup(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lookup PHONE",
		Short: "Find people and deliveries by a phone number",
		Long: `Find what the hosted products know under a phone number, and the newest deliveries
whose payload has the number or the id of a match. The number is given as people write
it; without a country code it is Brazilian and needs its area code. Lookups are limited
for each operator and recorded in the audit log. With --quiet only the ids of deliveries
are printed.`,
		Example: `  hub lookup "+55 11 98765-4321"
  hub lookup "(11) 98765-4321" -q | xargs -n 1 hub deliveries show`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && isNumber(strings.Join(args, "")) { // typed without quotes
				return nil
			}
			return exactly("PHONE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			phone := strings.Join(args, " ")
			if !isNumber(phone) {
				return usagef("%q is not a phone number: people are found by phone number only; others are found in the product itself", phone)
			}
			c, err := a.calls()
			if err != nil {
				return err
			}
			reply, err := c.Lookup(cmd.Context(), phone)
			if err != nil {
				return err
			}
			return a.foundShown(reply)
		},
	}
}

// isNumber reports whether a text is made of digits and what people write between them.
func isNumber(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) &&
		!strings.ContainsFunc(text, func(r rune) bool {
			return !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("+-().", r)
		})
}

// foundShown prints the result of a lookup.
func (a *app) foundShown(reply client.Reply[client.Found]) error {
	found := reply.Value
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	if a.quiet {
		for _, d := range found.Deliveries {
			a.print("%s", terminal.Printable(d.ID))
		}
		return nil
	}
	a.print("phone  %s", terminal.Printable(found.Phone))
	if len(found.Matches) == 0 && len(found.Deliveries) == 0 {
		a.note("nothing is known of it")
		return nil
	}
	if len(found.Matches) > 0 {
		a.print("")
		rows := make([][]string, 0, len(found.Matches))
		for _, m := range found.Matches {
			rows = append(rows, []string{m.Product, m.Kind, m.Name, m.ID, m.TenantID, orDash(m.URL)})
		}
		a.table([]column{{title: "product"}, {title: "kind"}, {title: "name"}, {title: "id"}, {title: "tenant"}, {title: "url"}}, rows)
	}
	if len(found.Deliveries) > 0 {
		a.print("")
		rows := make([][]string, 0, len(found.Deliveries))
		for _, d := range found.Deliveries {
			rows = append(rows, deliveryRow(d))
		}
		a.table(deliveryColumns(), rows)
	}
	return nil
}
