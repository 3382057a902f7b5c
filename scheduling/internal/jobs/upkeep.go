// Package jobs is what the service does by itself as time passes: points run out,
// birthdays are remembered, and what nobody needs any more is forgotten.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Keeper does it.
type Keeper struct {
	host  module.Host
	store *store.Store
}

// New makes the keeper of an opened product.
func New(host module.Host, s *store.Store) *Keeper { return &Keeper{host, s} }

// Jobs is what it does in the background.
func (k *Keeper) Jobs() []module.Job {
	return []module.Job{
		{Name: "loyalty", Every: time.Hour, Timeout: 10 * time.Minute, Run: k.loyalty},
		{Name: "tax-ids", Every: 24 * time.Hour, Timeout: 10 * time.Minute, Run: func(ctx context.Context, _ []byte) error { return k.store.PrepareCPFs(ctx) }},
		{Name: "cleanup", Every: time.Hour, Timeout: 10 * time.Minute, Run: k.cleanup},
	}
}

// atOnce is how many clients are read at a time.
const atOnce = 500

// loyalty takes points that have run out and gives those of birthdays.
func (k *Keeper) loyalty(ctx context.Context, _ []byte) error {
	expiring, err := k.store.ExpiringPrograms(ctx)
	if err != nil {
		return err
	}
	birthdays, err := k.store.BirthdayPrograms(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range expiring {
		failed = append(failed, k.each(ctx, id, k.expire))
	}
	for _, id := range birthdays {
		failed = append(failed, k.each(ctx, id, k.congratulate))
	}
	return errors.Join(failed...)
}

// each does something for one organization; another's failure is none of its concern.
func (k *Keeper) each(ctx context.Context, id uuid.UUID, do func(context.Context, store.Org, booking.Loyalty) error) error {
	org, err := k.store.Org(ctx, id)
	if err != nil {
		return err
	}
	program, err := store.LoyaltyOf(ctx, k.store.Queries, id)
	if err != nil {
		return err
	}
	return do(ctx, org, program)
}

// expire takes the points of clients that have run out.
func (k *Keeper) expire(ctx context.Context, org store.Org, program booking.Loyalty) error {
	if program.ExpirationDays == nil {
		return nil
	}
	before := k.host.Now().AddDate(0, 0, -*program.ExpirationDays)
	for after := uuid.Nil; ; {
		clients, err := k.store.ClientsWithOldPoints(ctx, dbgen.ClientsWithOldPointsParams{OrgID: org.ID, Before: before, After: after, RowLimit: atOnce})
		if err != nil || len(clients) == 0 {
			return err
		}
		for _, id := range clients {
			if err := k.expireOf(ctx, org, program, id); err != nil {
				return err
			}
		}
		after = clients[len(clients)-1]
	}
}

func (k *Keeper) expireOf(ctx context.Context, org store.Org, program booking.Loyalty, client uuid.UUID) error {
	return k.store.InTx(ctx, "taking points that ran out", func(tx *store.Tx) error {
		locked, err := tx.LockClient(ctx, org.ID, client)
		if err != nil {
			return store.Ignored(err)
		}
		rows, err := tx.Ledger(ctx, org.ID, client)
		if err != nil {
			return err
		}
		entries := make([]booking.LedgerEntry, len(rows))
		for i, r := range rows {
			entries[i] = booking.LedgerEntry{Points: r.Points, At: r.CreatedAt}
		}
		overdue, _, _ := program.Expiry(entries, tx.Now(), org.Zone)
		return tx.AddPoints(ctx, store.Points{
			Org: org.ID, Client: client, Type: "expire", Points: -min(overdue, locked.LoyaltyPoints),
			Source: fmt.Sprintf("expiry:%s:%d", client, len(rows)), // each entry of the ledger is looked at once
		})
	})
}

// congratulate gives the points of birthdays, once a year. Who was born on 29
// February has theirs on the 28th where there is no 29th.
func (k *Keeper) congratulate(ctx context.Context, org store.Org, program booking.Loyalty) error {
	today := k.host.Now().In(org.Zone)
	days := []int{today.Day()}
	if today.Month() == time.February && today.Day() == 28 && today.AddDate(0, 0, 1).Month() == time.March {
		days = append(days, 29)
	}
	year := strconv.Itoa(today.Year())
	for {
		clients, err := k.store.Birthdays(ctx, dbgen.BirthdaysParams{OrgID: org.ID, Month: int(today.Month()), Days: days, Year: year, RowLimit: atOnce})
		if err != nil || len(clients) == 0 {
			return err
		}
		for _, id := range clients {
			err := k.store.InTx(ctx, "giving the points of a birthday", func(tx *store.Tx) error {
				return tx.AddPoints(ctx, store.Points{
					Org: org.ID, Client: id, Type: "bonus", Points: program.BirthdayBonus, Source: fmt.Sprintf("birthday:%s:%s", id, year),
				})
			})
			if err != nil {
				return err
			}
		}
	}
}

// How long things are kept once they are of no use.
const (
	keepAnswers = 24 * time.Hour      // to requests with an Idempotency-Key
	keepNotices = 90 * 24 * time.Hour // of payment providers, which repeat for days
	keepHolds   = time.Minute
	keepSlugs   = 0
	keepWaiting = 7 * 24 * time.Hour
)

// cleanup forgets what nobody needs any more.
func (k *Keeper) cleanup(ctx context.Context, _ []byte) error {
	now := k.host.Now()
	var failed []error
	for _, one := range []struct {
		what   string
		forget func(context.Context, time.Time) (int64, error)
		kept   time.Duration
	}{
		{"answers", k.store.ForgetIdempotency, keepAnswers},
		{"held times", k.store.ForgetHolds, keepHolds},
		{"spent proofs", k.store.ForgetProofs, 0},
		{"old slugs", k.store.ForgetOldSlugs, keepSlugs},
		{"payment notices", k.store.ForgetNotices, keepNotices},
		{"waiting clients", k.store.ForgetWaiting, keepWaiting},
	} {
		if _, err := one.forget(ctx, now.Add(-one.kept)); err != nil {
			failed = append(failed, fmt.Errorf("forgetting %s: %w", one.what, err))
		}
	}
	return errors.Join(failed...)
}
