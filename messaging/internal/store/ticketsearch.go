package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/like"
	"integrationhub/messaging/internal/chat"
)

const (
	// maxCountedTickets is up to where tickets are counted: counting all of a large company
	// on each page takes longer than the page.
	maxCountedTickets = 10_000
	// maxProbedRows is up to where the rows of a page are found by walking the tickets in the
	// order of the list. Deep pages compare with everything that is found.
	maxProbedRows = 400
	// maxWalkedTickets is how many of a filter's tickets are examined for a search that finds
	// very many, before everything is read that it finds.
	maxWalkedTickets = 1_000
)

// endOfPrefix follows every character of a word.
const endOfPrefix = "\U0010FFFF"

// ticketSearch is a search as it is answered: for a few tickets their ids; for many the
// conditions that each meets.
type ticketSearch struct {
	words   []string // beginnings of words, the longest first; none: messages are not searched
	pattern string   // of contacts
	key     string   // of a contact's number, where the search is one; "" = it is none
	found   []int64  // the ids of all matching tickets; nil: there are many
	isMany  bool
	atLeast int // how many match, while isMany
}

// searchTickets looks for the tickets of a company by contact and by message, each by its
// own index, and stops once it has found limit.
func (s *Store) searchTickets(ctx context.Context, scope Scope, term string, limit int) (*ticketSearch, error) {
	search := &ticketSearch{pattern: like.Contains(term), key: chat.SearchKey(term)}
	err := s.host.Pool.QueryRow(ctx, `select array(select word from messaging.words_in($1) word order by length(word) desc, word)`, term).Scan(&search.words)
	if err != nil {
		return nil, fmt.Errorf("reading the words of a search: %w", err)
	}
	c := conditions{args: []any{scope.Company, search.pattern, limit}}
	byContact := search.contactMatches(&c, "$2")
	byWords := `select null::bigint where false`
	if len(search.words) > 0 {
		byWords = search.ticketsByWords(&c)
	}
	// A ticket with several such words is found as often: half as many rows more nearly
	// always have enough tickets.
	args := append([]any{pgx.QueryExecModeCacheDescribe}, c.args...) // planned for its actual values
	err = s.host.Pool.QueryRow(ctx, fmt.Sprintf(`with by_words as materialized (%s limit $3 * 3 / 2),
		by_contact as materialized (
			select f.id from (select fc.id from contacts fc where fc.company_id = $1 and %s and (select count(*) from by_words) < $3 limit $3) c,
				lateral (select f.id from tickets f where f.company_id = $1 and f.contact_id = c.id offset 0) f limit $3),
		found as materialized (select * from by_words union select * from by_contact),
		counted as materialized (select count(*) as tickets, (select count(*) from by_words) >= $3 or (select count(*) from by_contact) >= $3 as is_many from found)
		select tickets, is_many or tickets >= $3, case when not is_many and tickets < $3 then array(select * from found) end from counted`, byWords, byContact), args...).
		Scan(&search.atLeast, &search.isMany, &search.found)
	if err != nil {
		return nil, fmt.Errorf("searching tickets: %w", err)
	}
	return search, nil
}

// contactMatches returns the condition that a contact's name or number has the search's pattern, or
// that its number is the search in the other form of a Brazilian mobile number.
func (s *ticketSearch) contactMatches(c *conditions, pattern string) string {
	condition := fmt.Sprintf("messaging.search_form(fc.name) like messaging.search_form(%[1]s) or fc.number like %[1]s", pattern)
	if s.key != "" {
		c.args = append(c.args, s.key)
		condition += fmt.Sprintf(" or fc.number_key = $%d", len(c.args))
	}
	return "(" + condition + ")"
}

// wordRange returns the condition that a word begins with a prefix.
func wordRange(c *conditions, column, prefix string) string {
	c.args = append(c.args, prefix, prefix+endOfPrefix)
	return fmt.Sprintf("%[1]s >= $%[2]d and %[1]s < $%[3]d", column, len(c.args)-1, len(c.args))
}

// hasWord returns the condition that a row of words, by its alias, is of a ticket and begins
// with a prefix. Only the primary key can answer a comparison of rows in this order: by the
// other index, which a planner without statistics may prefer, each ticket would read every
// such word of the company.
func hasWord(c *conditions, alias, ticket, prefix string) string {
	c.args = append(c.args, prefix, prefix+endOfPrefix)
	return fmt.Sprintf("%[1]s.company_id = $1 and (%[1]s.ticket_id, %[1]s.word) >= (%[2]s, $%[3]d) and (%[1]s.ticket_id, %[1]s.word) < (%[2]s, $%[4]d)", alias, ticket, len(c.args)-1, len(c.args))
}

// ticketsByWords returns the query of the tickets whose messages have every word. $1 is the
// company.
func (s *ticketSearch) ticketsByWords(c *conditions) string {
	query := "select w.ticket_id from ticket_words w where w.company_id = $1 and " + wordRange(c, "w.word", s.words[0])
	for _, word := range s.words[1:] {
		query += " and (select true from ticket_words o where " + hasWord(c, "o", "w.ticket_id", word) + " limit 1)"
	}
	return query
}

// addTo adds the condition of the search. isProbing is for a page of tickets that are read in
// order: each is examined, until the page is full.
func (s *ticketSearch) addTo(c *conditions, isProbing bool) {
	if !s.isMany {
		c.add("t.id = any(?)", slices.Clip(s.found))
		return
	}
	c.args = append(c.args, s.pattern)
	contact := "fc.company_id = $1 and " + s.contactMatches(c, fmt.Sprintf("$%d", len(c.args)))
	if !isProbing {
		found := "select f.id from contacts fc join tickets f on f.company_id = fc.company_id and f.contact_id = fc.id where " + contact
		if len(s.words) > 0 {
			found += " union " + s.ticketsByWords(c)
		}
		c.list = append(c.list, "t.id in ("+found+")")
		return
	}
	// Scalar: for an "exists" the planner would read everything that is found.
	condition := "(select true from contacts fc where " + contact + " and fc.id = t.contact_id)"
	if len(s.words) > 0 {
		var words []string
		for _, word := range s.words {
			words = append(words, "(select true from ticket_words w where "+hasWord(c, "w", "t.id", word)+" limit 1)")
		}
		condition += " or " + strings.Join(words, " and ")
	}
	c.list = append(c.list, "("+condition+")")
}

// walkTickets counts the tickets of a filter that a search finds among the last changed ones,
// up to a limit. isExact says that those are all tickets of the filter.
func (s *Store) walkTickets(ctx context.Context, scope Scope, f TicketFilter, search *ticketSearch, limit int) (count int, isExact bool, err error) {
	filter, args := f.where(scope, nil, false)
	c := conditions{args: args}
	search.addTo(&c, true)
	walked := fmt.Sprintf("select t.id, t.contact_id from tickets t%s order by t.updated_at desc, t.id desc limit %d", filter, maxWalkedTickets)
	mode := []any{pgx.QueryExecModeCacheDescribe} // planned for its actual values
	err = s.host.Pool.QueryRow(ctx, fmt.Sprintf("select count(*) from (select from (%s) t where %s limit %d) counted", walked, strings.Join(c.list, " and "), limit), append(mode, c.args...)...).Scan(&count)
	if err == nil && count < limit {
		err = s.host.Pool.QueryRow(ctx, fmt.Sprintf("select count(*) < %d from (select from tickets t%s limit %[1]d) counted", maxWalkedTickets, filter), append(mode, args...)...).Scan(&isExact)
	}
	if err != nil {
		return 0, false, fmt.Errorf("counting tickets of a search: %w", err)
	}
	return count, isExact, nil
}
