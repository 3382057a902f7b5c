package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Maintenance runs the jobs that maintain data.
type Maintenance struct {
	host  module.Host
	store *store.Store

	mu         sync.Mutex
	lastExpiry uuid.UUID // the organization whose points expired last: the next run begins after it
}

// NewMaintenance returns the maintenance of an opened product.
func NewMaintenance(host module.Host, s *store.Store) *Maintenance {
	return &Maintenance{host: host, store: s}
}

// clientBatch is how many clients are read per query.
const clientBatch = 500

// updateLoyaltyPoints grants the points of birthdays and expires points. Birthdays come first,
// because they pass: what expires can wait for the next run.
func (m *Maintenance) updateLoyaltyPoints(ctx context.Context) error {
	birthdays, err := m.store.OrgsWithBirthdayBonus(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range birthdays {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, m.forOrg(ctx, id, m.grantBirthdayPoints))
	}
	expiring, err := m.store.OrgsWithExpiringPoints(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, id := range m.rotate(expiring) {
		if ctx.Err() != nil {
			break
		}
		m.setLastExpiry(id)
		errs = append(errs, m.forOrg(ctx, id, m.expirePoints))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// rotate returns organizations, sorted by id, from the one after the last expiry on: a run
// that had no time for all is continued by the next.
func (m *Maintenance) rotate(orgs []uuid.UUID) []uuid.UUID {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := slices.IndexFunc(orgs, func(id uuid.UUID) bool { return bytes.Compare(id[:], m.lastExpiry[:]) > 0 })
	if next < 0 {
		return orgs
	}
	return slices.Concat(orgs[next:], orgs[:next])
}

func (m *Maintenance) setLastExpiry(org uuid.UUID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastExpiry = org
}

// forOrg runs update for one organization with its loyalty program.
func (m *Maintenance) forOrg(ctx context.Context, id uuid.UUID, update func(context.Context, store.Org, booking.Loyalty) error) error {
	org, err := m.store.LoadOrg(ctx, id)
	if err != nil {
		return err
	}
	program, err := store.LoadLoyalty(ctx, m.store.DB, id)
	if err != nil {
		return err
	}
	return update(ctx, org, program)
}

// expirePoints expires the points of an organization's clients.
func (m *Maintenance) expirePoints(ctx context.Context, org store.Org, program booking.Loyalty) error {
	if program.ExpirationDays == nil {
		return nil
	}
	before := m.host.Now().AddDate(0, 0, -*program.ExpirationDays)
	for after := uuid.Nil; ; {
		clients, err := m.store.ClientsWithOldPoints(ctx, dbgen.ClientsWithOldPointsParams{OrgID: org.ID, Before: before, After: after, RowLimit: clientBatch})
		if err != nil || len(clients) == 0 {
			return err
		}
		for _, id := range clients {
			if err := m.expireClientPoints(ctx, org, program, id); err != nil {
				return err
			}
		}
		after = clients[len(clients)-1]
	}
}

func (m *Maintenance) expireClientPoints(ctx context.Context, org store.Org, program booking.Loyalty, client uuid.UUID) error {
	return m.store.InTx(ctx, "expiring points", func(tx *store.Tx) error {
		locked, err := tx.LockClient(ctx, org.ID, client)
		if err != nil {
			return store.IgnoreNotFound(err)
		}
		rows, err := tx.LoyaltyLedger(ctx, org.ID, client)
		if err != nil {
			return err
		}
		entries := make([]booking.PointsEntry, len(rows))
		for i, row := range rows {
			entries[i] = booking.PointsEntry{Points: row.Points, At: row.CreatedAt}
		}
		overdue, _, _ := program.Expiry(entries, tx.Now(), org.Zone)
		return tx.AddPoints(ctx, store.PointsChange{
			Org: org.ID, Client: client, Type: "expire", Points: -min(overdue, locked.LoyaltyPoints),
			Source: fmt.Sprintf("expiry:%s:%d", client, len(rows)), // once per state of the ledger
		})
	})
}

// grantBirthdayPoints grants the points of birthdays, once a year. Clients born on 29
// February get theirs on the 28th in other years.
func (m *Maintenance) grantBirthdayPoints(ctx context.Context, org store.Org, program booking.Loyalty) error {
	if program.BirthdayBonus <= 0 { // changed since the organizations were listed
		return nil
	}
	today := m.host.Now().In(org.Zone)
	days := []int{today.Day()}
	if today.Month() == time.February && today.Day() == 28 && today.AddDate(0, 0, 1).Month() == time.March {
		days = append(days, 29)
	}
	year := strconv.Itoa(today.Year())
	for after := uuid.Nil; ; {
		clients, err := m.store.ClientsWithBirthday(ctx, dbgen.ClientsWithBirthdayParams{OrgID: org.ID, After: after, Month: int(today.Month()), Days: days, Year: year, RowLimit: clientBatch})
		if err != nil || len(clients) == 0 {
			return err
		}
		for _, id := range clients {
			err := m.store.InTx(ctx, "granting birthday points", func(tx *store.Tx) error {
				return tx.AddPoints(ctx, store.PointsChange{
					Org: org.ID, Client: id, Type: "bonus", Points: program.BirthdayBonus, Source: fmt.Sprintf("birthday:%s:%s", id, year),
				})
			})
			if err != nil {
				return err
			}
		}
		after = clients[len(clients)-1]
	}
}

// How long rows are kept after they expired.
const (
	answerRetention        = 24 * time.Hour      // to requests with an Idempotency-Key
	providerEventRetention = 90 * 24 * time.Hour // of payment providers, which repeat for days
	holdRetention          = time.Minute
	slugRetention          = 0
	waitlistRetention      = 7 * 24 * time.Hour
)

// deleteExpiredRows deletes rows that are no longer needed.
func (m *Maintenance) deleteExpiredRows(ctx context.Context) error {
	now := m.host.Now()
	var errs []error
	for _, cleanup := range []struct {
		rows      string
		deleteOld func(context.Context, time.Time) (int64, error)
		retention time.Duration
	}{
		{"idempotency keys", m.store.DeleteExpiredIdempotencyKeys, answerRetention},
		{"holds", m.store.DeleteExpiredHolds, holdRetention},
		{"spent proofs", m.store.DeleteExpiredProofs, 0},
		{"old slugs", m.store.DeleteExpiredSlugs, slugRetention},
		{"provider events", m.store.DeleteProcessedProviderEvents, providerEventRetention},
		{"counted e-mails", m.store.DeleteOldBookingEmails, store.BookingEmailPeriod},
		{"waitlist entries", m.store.DeletePastWaitlistEntries, waitlistRetention},
	} {
		if _, err := cleanup.deleteOld(ctx, now.Add(-cleanup.retention)); err != nil {
			errs = append(errs, fmt.Errorf("deleting %s: %w", cleanup.rows, err))
		}
	}
	return errors.Join(errs...)
}
