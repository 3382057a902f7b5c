package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Org is an organization with its settings and the policy derived from them.
type Org struct {
	dbgen.Organization
	Settings dbgen.Settings
	Zone     *time.Location
	Policy   booking.Policy
}

// LoadOrg loads an organization, or returns [hub.ErrNotFound].
func (s *Store) LoadOrg(ctx context.Context, id uuid.UUID) (Org, error) {
	row, err := s.OrganizationByID(ctx, id)
	if err != nil {
		return Org{}, dberr.Wrap("loading the organization", err)
	}
	return NewOrg(row.Organization, row.Settings)
}

// LoadOrgBySlug loads an organization by its current slug or by a recent former one.
func (s *Store) LoadOrgBySlug(ctx context.Context, slug string) (Org, error) {
	row, err := s.OrganizationBySlug(ctx, slug, s.host.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return Org{}, hub.NotFound("Organization")
	}
	if err != nil {
		return Org{}, dberr.Wrap("loading the organization", err)
	}
	return NewOrg(row.Organization, row.Settings)
}

// LockOrg loads an organization that the transaction is about to change.
func (t *Tx) LockOrg(ctx context.Context, id uuid.UUID) (Org, error) {
	row, err := t.LockOrganization(ctx, id)
	if err != nil {
		return Org{}, dberr.Wrap("loading the organization", err)
	}
	return NewOrg(row.Organization, row.Settings)
}

// NewOrg combines an organization with its settings.
func NewOrg(organization dbgen.Organization, settings dbgen.Settings) (Org, error) {
	zone, err := time.LoadLocation(organization.Timezone)
	if err != nil {
		return Org{}, fmt.Errorf("loading the organization's time zone: %w", err)
	}
	return Org{organization, settings, zone, PolicyOf(settings)}, nil
}

// PolicyOf returns the part of the settings that the rules read.
func PolicyOf(settings dbgen.Settings) booking.Policy {
	return booking.Policy{
		AutoConfirm: settings.AutoConfirm, SlotIntervalMinutes: settings.SlotIntervalMinutes, MinNoticeMinutes: settings.MinNoticeMinutes,
		MaxAdvanceDays: settings.MaxAdvanceDays, CancelNoticeMinutes: settings.CancelNoticeMinutes, RescheduleNoticeMinutes: settings.RescheduleNoticeMinutes,
		AllowClientCancel: settings.AllowClientCancel, AllowClientReschedule: settings.AllowClientReschedule,
		BufferBeforeMinutes: settings.BufferBeforeMinutes, BufferAfterMinutes: settings.BufferAfterMinutes, MaxBookingsPerDay: settings.MaxBookingsPerDay,
		DepositHoldMinutes: settings.DepositHoldMinutes, DepositRefundNoticeMinutes: settings.DepositRefundNoticeMinutes,
	}
}
