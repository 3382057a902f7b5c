package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// pageMax is the API's limit of items per page.
const pageMax = 200

// paging holds the flags that limit a list.
type paging struct {
	limit  int
	cursor string
	all    bool
}

func (p *paging) addTo(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "how many to show")
	cmd.Flags().StringVar(&p.cursor, "cursor", "", "go on where a list before ended")
	cmd.Flags().BoolVar(&p.all, "all", false, "show everything, page after page")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

// listing fetches and prints a list.
type listing[T any] struct {
	fetch   func(context.Context, client.PageQuery) (client.Reply[client.Page[T]], error)
	columns []column
	row     func(T) []string
	id      func(T) string // for --quiet
	each    func(T)        // prints an item, instead of a row; nil: a table
}

// show fetches as many pages as the flags ask for and prints them.
func (l listing[T]) show(ctx context.Context, a *app, p paging) error {
	if p.limit < 1 && !p.all {
		return usagef("--limit is at least 1")
	}
	var items []T
	var raw []json.RawMessage
	var first json.RawMessage
	next, pages := p.cursor, 0
	for more := true; more; {
		want := pageMax
		if !p.all {
			want = min(pageMax, p.limit-len(items))
		}
		reply, err := l.fetch(ctx, client.PageQuery{Limit: want, Cursor: next})
		if err != nil {
			return err
		}
		var page client.Page[json.RawMessage]
		if err := json.Unmarshal(reply.Raw, &page); err != nil {
			return fmt.Errorf("reading a page: %w", err)
		}
		pages++
		first = reply.Raw
		items, raw, next = append(items, reply.Value.Items...), append(raw, page.Items...), ""
		if reply.Value.NextCursor != nil {
			next = *reply.Value.NextCursor
		}
		more = next != "" && (p.all || len(items) < p.limit)
	}
	if a.json() && pages == 1 {
		return a.printRaw(first)
	}
	if a.json() {
		return a.printValue(mergedPages(raw, next))
	}
	l.print(a, items, next)
	return nil
}

func mergedPages(items []json.RawMessage, next string) client.Page[json.RawMessage] {
	page := client.Page[json.RawMessage]{Items: items}
	if next != "" {
		page.NextCursor = &next
	}
	return page
}

func (l listing[T]) print(a *app, items []T, next string) {
	if a.quiet {
		for _, item := range items {
			a.print("%s", terminal.Printable(l.id(item)))
		}
		return
	}
	if len(items) == 0 {
		a.note("nothing to show")
		return
	}
	rows := make([][]string, 0, len(items))
	for _, item := range items {
		if l.each != nil {
			l.each(item)
			continue
		}
		rows = append(rows, l.row(item))
	}
	if l.each == nil {
		a.table(l.columns, rows)
	}
	if next != "" {
		a.note("there is more: --all, or --cursor %s", terminal.Printable(next))
	}
}
