package api

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/pointer"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// slugRedirectPeriod is how long an organization's old slug redirects.
const slugRedirectPeriod = 90 * 24 * time.Hour

// Organization is a tenant of the product.
type Organization struct {
	ID        uuid.UUID `json:"id" doc:"Names the organization: its tenant id"`
	Name      string    `json:"name" doc:"How clients see it"`
	Slug      string    `json:"slug" doc:"Its part of public addresses"`
	LogoURL   *string   `json:"logo_url" doc:"Picture of it; null: none"`
	Phone     *string   `json:"phone" doc:"In international form, +5511987654321; null: none"`
	Email     *string   `json:"email" doc:"E-mail address; null: none"`
	Address   *string   `json:"address" doc:"Where clients go; null: none"`
	Timezone  string    `json:"timezone" doc:"IANA zone that days and times are counted in" example:"America/Sao_Paulo"`
	Currency  string    `json:"currency" doc:"ISO 4217 code of all amounts" example:"BRL"`
	Locale    string    `json:"locale" doc:"Language of e-mails and pages" example:"pt-BR"`
	Plan      string    `json:"plan" doc:"What it subscribed to" example:"free"`
	Settings  Settings  `json:"settings" doc:"How bookings work"`
	CreatedAt time.Time `json:"created_at" doc:"When it was stored"`
	UpdatedAt time.Time `json:"updated_at" doc:"When it was last changed"`
}

type organizationOutput struct{ Body Organization }

type updateOrganizationInput struct {
	Body struct {
		Name     optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How clients see it"`
		Slug     optional[string] `json:"slug,omitempty" minLength:"3" maxLength:"63" pattern:"^[a-z0-9]+(-[a-z0-9]+)*$" doc:"Owners only; the old one leads here for 90 days"`
		Phone    nullable[string] `json:"phone,omitempty" maxLength:"16" doc:"With the country: +5511987654321; null: none"`
		Email    nullable[string] `json:"email,omitempty" maxLength:"254" doc:"null: none"`
		Address  nullable[string] `json:"address,omitempty" maxLength:"500" doc:"null: none"`
		Timezone optional[string] `json:"timezone,omitempty" maxLength:"64" doc:"IANA name"`
		Currency optional[string] `json:"currency,omitempty" minLength:"3" maxLength:"3" doc:"ISO 4217 code; one without decimals is refused while amounts have some"`
		Locale   optional[string] `json:"locale,omitempty" maxLength:"11" doc:"Language of e-mails and pages, such as pt-BR"`
	} `nameHint:"OrganizationFields"`
}

func (a *API) toOrganization(org store.Org) Organization {
	return Organization{
		ID: org.ID, Name: org.Name, Slug: org.Slug, LogoURL: a.publicBooking.LogoURL(org), Phone: org.Phone, Email: org.Email, Address: org.Address, Timezone: org.Timezone,
		Currency: org.Currency, Locale: org.Locale, Plan: org.Plan, Settings: toSettings(org.Settings),
		CreatedAt: org.CreatedAt.In(org.Zone), UpdatedAt: org.UpdatedAt.In(org.Zone),
	}
}

func (a *API) getOrganization(ctx context.Context, _ *struct{}) (*organizationOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	return &organizationOutput{a.toOrganization(org)}, nil
}

var (
	e164Pattern     = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
	currencyPattern = regexp.MustCompile(`^[A-Z]{3}$`)
)

func (in *updateOrganizationInput) applyTo(org *store.Organization) error {
	body := &in.Body
	body.Name.ApplyTo(&org.Name)
	body.Slug.ApplyTo(&org.Slug)
	body.Phone.ApplyTo(&org.Phone)
	body.Email.ApplyTo(&org.Email)
	body.Address.ApplyTo(&org.Address)
	body.Timezone.ApplyTo(&org.Timezone)
	body.Currency.ApplyTo(&org.Currency)
	body.Locale.ApplyTo(&org.Locale)
	org.Name = strings.TrimSpace(org.Name)
	var errs fieldErrors
	errs.checkName(body.Name.HasValue(), org.Name)
	errs.Check(booking.ValidSlug(org.Slug), "body.slug", "must be 3 to 63 of a-z, 0-9 and single dashes, and no reserved word")
	errs.Check(!body.Phone.HasValue() || e164Pattern.MatchString(body.Phone.Value) && !brazil.LacksAreaCode(body.Phone.Value), "body.phone", "must be a phone number with its country, e.g. +5511987654321")
	errs.CheckEmail(org.Email, "body.email")
	errs.CheckLength(pointer.ValueOrZero(org.Address), "body.address", 0, 500)
	errs.CheckTimeZone(org.Timezone, "body.timezone")
	errs.Check(currencyPattern.MatchString(org.Currency) && isCurrency(org.Currency), "body.currency", "must be an ISO 4217 code")
	errs.CheckLocale(org.Locale, "body.locale")
	return errs.Err()
}

func (a *API) updateOrganization(ctx context.Context, in *updateOrganizationInput) (*organizationOutput, error) {
	caller, err := requireCaller(ctx)
	if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "updating the organization", func(tx *store.Tx) error {
		org, err := tx.LockOrg(ctx, caller.TenantID)
		if err != nil {
			return err
		}
		changed := org.Organization
		if err := in.applyTo(&changed); err != nil {
			return err
		}
		if err := checkCurrencyChange(ctx, tx, changed, org); err != nil {
			return err
		}
		if changed.Slug != org.Slug {
			if caller.Role != roleOwner {
				return hub.Errorf(hub.ErrForbidden, "owner_only", "Only owners may change the slug.")
			}
			if err := changeSlug(ctx, tx, org, changed.Slug); err != nil {
				return err
			}
		}
		if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: org.ID, Name: changed.Name}); err != nil {
			return err
		}
		return tx.SaveOrganization(ctx, changed)
	})
	if err != nil {
		return nil, mapAccountConflict(err)
	}
	return a.getOrganization(ctx, nil)
}

// checkCurrencyChange refuses a currency without decimals while stored amounts have some.
func checkCurrencyChange(ctx context.Context, tx *store.Tx, changed store.Organization, org store.Org) error {
	if changed.Currency == org.Currency || booking.Decimals(changed.Currency) > 0 {
		return nil
	}
	found, err := tx.HasFractionalAmounts(ctx, org.ID)
	if err == nil && found {
		err = hub.Errorf(hub.ErrConflict, "currency_unsuitable", "%s has no decimals, but prices, open appointments or payments of yours have. Change those first.", changed.Currency)
	}
	return err
}

func changeSlug(ctx context.Context, tx *store.Tx, org store.Org, slug string) error {
	if err := checkSlugFree(ctx, tx, slug, org.ID); err != nil {
		return err
	}
	if err := tx.DeleteOldSlug(ctx, slug); err != nil {
		return err
	}
	return tx.RedirectSlug(ctx, org.Slug, org.ID, slugRedirectPeriod)
}

type settingsOutput struct{ Body Settings }

func (a *API) updateSettings(ctx context.Context, in *settingsInput) (*settingsOutput, error) {
	id, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.Settings
	err = a.store.InTx(ctx, "updating settings", func(tx *store.Tx) error {
		org, err := tx.LockOrg(ctx, id)
		if err != nil {
			return err
		}
		updated = org.Settings
		if err := in.Body.applyTo(&updated); err != nil {
			return err
		}
		if err := mergeBookingPage(in.Body.BookingPage, &updated); err != nil {
			return err
		}
		updated.UpdatedAt = tx.Now()
		return tx.SaveSettings(ctx, updated)
	})
	return &settingsOutput{toSettings(updated)}, err
}

// mergeBookingPage merges the sent members into the page settings. Absent members stay;
// null removes a member.
func mergeBookingPage(sent nullable[BookingPage], settings *store.Settings) error {
	if !sent.Set {
		return nil
	}
	if sent.Null {
		settings.BookingPage = json.RawMessage(`{}`)
		return nil
	}
	var stored BookingPage
	if err := json.Unmarshal(settings.BookingPage, &stored); err != nil {
		return err
	}
	page := sent.Value
	for _, member := range []struct{ sent, stored *nullable[string] }{
		{&page.PrimaryColor, &stored.PrimaryColor}, {&page.WelcomeMessage, &stored.WelcomeMessage}, {&page.CancellationPolicy, &stored.CancellationPolicy},
		{&page.TermsURL, &stored.TermsURL}, {&page.PrivacyURL, &stored.PrivacyURL},
	} {
		member.sent.MergeInto(member.stored)
	}
	page.ShowPrices.MergeInto(&stored.ShowPrices)
	page.EmbedAllowedOrigins.MergeInto(&stored.EmbedAllowedOrigins)
	if err := stored.validate(); err != nil {
		return err
	}
	raw, err := json.Marshal(stored)
	settings.BookingPage = raw
	return err
}
