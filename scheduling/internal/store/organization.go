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

// Organization is a row of scheduling.organizations.
type Organization = dbgen.Organization

// Settings is a row of scheduling.settings.
type Settings = dbgen.Settings

// Org is an organization with its settings and the policy derived from them.
type Org struct {
	Organization
	Settings Settings
	Zone     *time.Location
	Policy   booking.Policy
}

// AreaCode returns the area code of phone numbers that are written without theirs, "" if
// they are refused.
func (o Org) AreaCode() string {
	if o.Settings.DefaultAreaCode == nil {
		return ""
	}
	return *o.Settings.DefaultAreaCode
}

// LoadOrg loads an organization, or returns [hub.ErrNotFound].
func (s *Store) LoadOrg(ctx context.Context, id uuid.UUID) (Org, error) {
	row, err := s.OrganizationByID(ctx, id)
	if err != nil {
		return Org{}, dberr.Wrap("loading the organization", err)
	}
	return NewOrg(row.Organization, row.Settings)
}

// LoadOrgBySlug loads an organization by its current slug or by a recent former one. The pages
// of a suspended one are not found.
func (s *Store) LoadOrgBySlug(ctx context.Context, slug string) (Org, error) {
	row, err := s.OrganizationBySlug(ctx, slug, s.host.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return Org{}, hub.NotFound("Organization")
	}
	if err != nil {
		return Org{}, dberr.Wrap("loading the organization", err)
	}
	if s.host.Tenants.CheckActive(row.Organization.ID) != nil {
		return Org{}, hub.NotFound("Organization")
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
func NewOrg(organization Organization, settings Settings) (Org, error) {
	zone, err := time.LoadLocation(organization.Timezone)
	if err != nil {
		return Org{}, fmt.Errorf("loading the organization's time zone: %w", err)
	}
	return Org{organization, settings, zone, PolicyOf(settings)}, nil
}

// PolicyOf returns the part of the settings that the rules read.
func PolicyOf(settings Settings) booking.Policy {
	return booking.Policy{
		AutoConfirm: settings.AutoConfirm, SlotIntervalMinutes: settings.SlotIntervalMinutes, MinNoticeMinutes: settings.MinNoticeMinutes,
		MaxAdvanceDays: settings.MaxAdvanceDays, CancelNoticeMinutes: settings.CancelNoticeMinutes, RescheduleNoticeMinutes: settings.RescheduleNoticeMinutes,
		AllowClientCancel: settings.AllowClientCancel, AllowClientReschedule: settings.AllowClientReschedule,
		BufferBeforeMinutes: settings.BufferBeforeMinutes, BufferAfterMinutes: settings.BufferAfterMinutes, MaxBookingsPerDay: settings.MaxBookingsPerDay,
		DepositHoldMinutes: settings.DepositHoldMinutes, DepositRefundNoticeMinutes: settings.DepositRefundNoticeMinutes,
	}
}

// AddOrganization stores a new organization with default settings and a disabled
// loyalty program. notifyEmail gets its notifications.
func (t *Tx) AddOrganization(ctx context.Context, organization Organization, notifyEmail string) error {
	err := t.CreateOrganization(ctx, dbgen.CreateOrganizationParams{ID: organization.ID, Name: organization.Name, Slug: organization.Slug, Phone: organization.Phone})
	if err != nil {
		return err
	}
	if err := t.CreateSettings(ctx, organization.ID, []string{notifyEmail}); err != nil {
		return err
	}
	return t.CreateLoyaltyProgram(ctx, organization.ID)
}

// SaveOrganization stores a changed organization, without its logo.
func (t *Tx) SaveOrganization(ctx context.Context, organization Organization) error {
	return t.UpdateOrganization(ctx, dbgen.UpdateOrganizationParams{
		ID: organization.ID, Name: organization.Name, Slug: organization.Slug, Phone: organization.Phone, Email: organization.Email, Address: organization.Address,
		Timezone: organization.Timezone, Currency: organization.Currency, Locale: organization.Locale, UpdatedAt: t.now,
	})
}

// SaveLogo stores the file of an organization's logo; nil removes it.
func (t *Tx) SaveLogo(ctx context.Context, org uuid.UUID, file *string) error {
	return t.SetLogo(ctx, dbgen.SetLogoParams{ID: org, LogoKey: file, UpdatedAt: t.now})
}

// SaveSettings stores changed settings.
func (t *Tx) SaveSettings(ctx context.Context, settings Settings) error {
	return t.UpdateSettings(ctx, dbgen.UpdateSettingsParams(settings))
}

// RedirectsElsewhere reports whether a slug still redirects to another organization.
func (t *Tx) RedirectsElsewhere(ctx context.Context, slug string, org uuid.UUID) (bool, error) {
	return t.IsSlugReserved(ctx, dbgen.IsSlugReservedParams{Slug: slug, Now: t.now, OrgID: org})
}

// RedirectSlug makes a former slug redirect to its organization for a period.
func (t *Tx) RedirectSlug(ctx context.Context, slug string, org uuid.UUID, period time.Duration) error {
	return t.StoreOldSlug(ctx, dbgen.StoreOldSlugParams{Slug: slug, OrgID: org, RedirectsUntil: t.now.Add(period)})
}
