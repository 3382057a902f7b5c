package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// Professional is a person whose time can be booked.
type Professional struct {
	ID                   uuid.UUID   `json:"id" doc:"Names the professional in paths and events"`
	OrgID                uuid.UUID   `json:"org_id" doc:"Organization that owns it"`
	UserID               *uuid.UUID  `json:"user_id" doc:"Login of the professional; null: none"`
	Name                 string      `json:"name" doc:"How clients see the professional"`
	Email                *string     `json:"email" doc:"E-mail address; null: none"`
	Phone                *string     `json:"phone" doc:"In international form, +5511987654321; null: none"`
	Bio                  *string     `json:"bio" doc:"What clients read of the professional; null: nothing"`
	Specialty            *string     `json:"specialty" doc:"What the professional does best; null: nothing special"`
	AvatarURL            *string     `json:"avatar_url" doc:"Picture of the professional; null: none"`
	Color                string      `json:"color" doc:"How calendars paint it, #RRGGBB"`
	IsActive             bool        `json:"is_active" doc:"Whether it is in use"`
	AcceptsOnlineBooking bool        `json:"accepts_online_booking" doc:"Whether clients book this professional online"`
	Position             int         `json:"position" doc:"Order in lists, from 0"`
	MaxBookingsPerDay    *int        `json:"max_bookings_per_day" doc:"Most appointments on a day; null: as the settings have it"`
	ServiceIDs           []uuid.UUID `json:"service_ids" nullable:"false" doc:"What the professional offers"`
	CalendarFeedURL      *string     `json:"calendar_feed_url" doc:"Secret address of the calendar, for subscribing to it; null: only managers and the professional's own user see it"`
	CreatedAt            time.Time   `json:"created_at" doc:"When it was stored"`
	UpdatedAt            time.Time   `json:"updated_at" doc:"When it was last changed"`
}

type professionalOutput struct{ Body Professional }

type professionalFields struct {
	UserID               nullable[uuid.UUID] `json:"user_id,omitempty" doc:"Login of the professional; null: none"`
	Name                 optional[string]    `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How clients see the professional" example:"Ana Souza"`
	Email                nullable[string]    `json:"email,omitempty" maxLength:"254" doc:"null: none"`
	Phone                nullable[string]    `json:"phone,omitempty" maxLength:"40" doc:"null: none"`
	Bio                  nullable[string]    `json:"bio,omitempty" maxLength:"2000" doc:"null: none"`
	Specialty            nullable[string]    `json:"specialty,omitempty" maxLength:"200" doc:"null: none"`
	AvatarURL            nullable[string]    `json:"avatar_url,omitempty" maxLength:"2048" doc:"Address of a picture, https; null: none. Either removes an uploaded picture"`
	Color                optional[string]    `json:"color,omitempty" maxLength:"7" pattern:"^#[0-9A-Fa-f]{6}$" doc:"How calendars paint it, #RRGGBB"`
	IsActive             optional[bool]      `json:"is_active,omitempty" doc:"Whether it is in use"`
	AcceptsOnlineBooking optional[bool]      `json:"accepts_online_booking,omitempty" doc:"Whether clients book this professional online"`
	Position             optional[int]       `json:"position,omitempty" minimum:"0" maximum:"100000" doc:"Order in lists, from 0"`
	MaxBookingsPerDay    nullable[int]       `json:"max_bookings_per_day,omitempty" minimum:"1" maximum:"200" doc:"null: no limit of their own"`
}

type createProfessionalInput struct {
	Body professionalFields `nameHint:"ProfessionalFields"`
}

type updateProfessionalInput struct {
	ByID
	Body professionalFields `nameHint:"ProfessionalFields"`
}

// toProfessional converts a professional for the caller. The feed's address shows clients' names
// and numbers without a login, so others than managers see their own only.
func (a *API) toProfessional(ctx context.Context, row store.ProfessionalWithServices, zone *time.Location) Professional {
	professional := row.Professional
	var feed *string
	caller, _ := module.CallerFrom(ctx)
	if caller.Admin || professional.UserID != nil && *professional.UserID == caller.UserID {
		address := a.publicBooking.FeedURL(professional)
		feed = &address
	}
	return Professional{
		ID: professional.ID, OrgID: professional.OrgID, UserID: professional.UserID, Name: professional.Name, Email: professional.Email, Phone: professional.Phone, Bio: professional.Bio, Specialty: professional.Specialty,
		AvatarURL: a.publicBooking.PhotoURL(professional.AvatarKey, professional.AvatarUrl), Color: professional.Color, IsActive: professional.IsActive, AcceptsOnlineBooking: professional.AcceptsOnlineBooking, Position: professional.Position,
		MaxBookingsPerDay: professional.MaxBookingsPerDay, ServiceIDs: row.ServiceIds, CalendarFeedURL: feed, CreatedAt: professional.CreatedAt.In(zone), UpdatedAt: professional.UpdatedAt.In(zone),
	}
}

// applyTo applies the fields to a professional and validates the result. uploaded is the
// address of the uploaded picture; nil: none.
func (f *professionalFields) applyTo(professional *store.Professional, uploaded *string, org store.Org) error {
	var errs fieldErrors
	errs.completePhone(&f.Phone, org)
	f.UserID.ApplyTo(&professional.UserID)
	f.Name.ApplyTo(&professional.Name)
	f.Email.ApplyTo(&professional.Email)
	f.Phone.ApplyTo(&professional.Phone)
	f.Bio.ApplyTo(&professional.Bio)
	f.Specialty.ApplyTo(&professional.Specialty)
	errs.applyPhoto(f.AvatarURL, &professional.AvatarUrl, &professional.AvatarKey, uploaded, "body.avatar_url")
	f.Color.ApplyTo(&professional.Color)
	f.IsActive.ApplyTo(&professional.IsActive)
	f.AcceptsOnlineBooking.ApplyTo(&professional.AcceptsOnlineBooking)
	f.Position.ApplyTo(&professional.Position)
	f.MaxBookingsPerDay.ApplyTo(&professional.MaxBookingsPerDay)
	professional.Name = strings.TrimSpace(professional.Name)
	errs.checkName(f.Name.HasValue(), professional.Name)
	errs.CheckEmail(professional.Email, "body.email")
	errs.CheckLength(pointer.ValueOrZero(professional.Bio), "body.bio", 0, 2000)
	errs.CheckLength(pointer.ValueOrZero(professional.Specialty), "body.specialty", 0, 200)
	errs.checkColor(professional.Color, "body.color")
	limit := professional.MaxBookingsPerDay
	errs.Check(limit == nil || *limit >= 1 && *limit <= 200, "body.max_bookings_per_day", "must be 1 to 200")
	return errs.Err()
}

// mapProfessionalConflict turns violations of the user reference into errors for callers.
func mapProfessionalConflict(err error) error {
	switch dberr.ConstraintName(err) {
	case "professionals_org_id_user_id_fkey":
		return hub.NotFound("User")
	case "professionals_user":
		return hub.Errorf(hub.ErrConflict, "user_taken", "Another professional has this user.")
	}
	return err
}

func (a *API) listProfessionals(ctx context.Context, _ *struct{}) (*listOutput[Professional], error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListProfessionals(ctx, org.ID, nil)
	return toListOutput(rows, func(row store.ProfessionalWithServices) Professional { return a.toProfessional(ctx, row, org.Zone) }), err
}

func (a *API) getProfessional(ctx context.Context, id uuid.UUID) (*professionalOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListProfessionals(ctx, org.ID, &id)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, hub.NotFound("Professional")
	}
	return &professionalOutput{a.toProfessional(ctx, rows[0], org.Zone)}, nil
}

func (a *API) createProfessional(ctx context.Context, in *createProfessionalInput) (*professionalOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Professional{OrgID: org.ID, ID: store.NewID(), Color: defaultColor, IsActive: true, AcceptsOnlineBooking: true}
	if err := in.Body.applyTo(&draft, nil, org); err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "adding a professional", func(tx *store.Tx) error {
		return tx.AddProfessional(ctx, draft, in.Body.Position.Pointer())
	})
	if err != nil {
		return nil, mapProfessionalConflict(err)
	}
	return a.getProfessional(ctx, draft.ID)
}

func (a *API) updateProfessional(ctx context.Context, in *updateProfessionalInput) (*professionalOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	keepsPicture := false
	previous, err := a.changeProfessional(ctx, org.ID, in.ID, func(professional *store.Professional) error {
		err := in.Body.applyTo(professional, a.publicBooking.PhotoURL(professional.AvatarKey, nil), org)
		keepsPicture = professional.AvatarKey != nil
		return err
	})
	if err != nil {
		return nil, mapProfessionalConflict(err)
	}
	if !keepsPicture {
		a.deleteFile(ctx, previous)
	}
	return a.getProfessional(ctx, in.ID)
}

// changeProfessional changes a professional and returns the file that was the picture
// before.
func (a *API) changeProfessional(ctx context.Context, org, id uuid.UUID, change func(*store.Professional) error) (picture *string, err error) {
	err = a.store.InTx(ctx, "updating a professional", func(tx *store.Tx) error {
		professional, err := tx.LockProfessional(ctx, org, id)
		if err != nil {
			return rest.NotFoundIfNoRows("Professional", err)
		}
		picture = professional.AvatarKey
		if err := change(&professional); err != nil {
			return err
		}
		return tx.SaveProfessional(ctx, professional)
	})
	return picture, err
}

func (a *API) uploadAvatar(ctx context.Context, in *photoInput) (*professionalOutput, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	err = a.replacePicture(ctx, in.RawBody.Data().File, func(name *string) (previous *string, err error) {
		return a.changeProfessional(ctx, org, in.ID, func(professional *store.Professional) error {
			professional.AvatarKey, professional.AvatarUrl = name, nil
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return a.getProfessional(ctx, in.ID)
}

func (a *API) deleteAvatar(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	previous, err := a.changeProfessional(ctx, org, in.ID, func(professional *store.Professional) error {
		professional.AvatarKey, professional.AvatarUrl = nil, nil
		return nil
	})
	if err == nil {
		a.deleteFile(ctx, previous)
	}
	return nil, err
}

// deleteProfessional marks the row as deleted: appointments refer to it.
func (a *API) deleteProfessional(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	var picture *string
	err = a.store.InTx(ctx, "removing a professional", func(tx *store.Tx) error {
		professional, err := tx.LockProfessional(ctx, org, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Professional", err)
		}
		picture = professional.AvatarKey
		return tx.RemoveProfessional(ctx, org, in.ID)
	})
	if err == nil {
		a.deleteFile(ctx, picture)
	}
	return nil, err
}

func (a *API) rotateCalendarFeed(ctx context.Context, in *ByID) (*professionalOutput, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	rotated, err := a.store.RotateFeed(ctx, org, in.ID)
	if err := requireRowChanged("Professional", rotated, err); err != nil {
		return nil, err
	}
	return a.getProfessional(ctx, in.ID)
}

// OfferedService is a service with a professional's own duration and price.
type OfferedService struct {
	ServiceID         uuid.UUID      `json:"service_id" doc:"Names the service"`
	Name              string         `json:"name" doc:"Display name"`
	DurationMinutes   int            `json:"duration_minutes" doc:"Of the service itself"`
	Price             booking.Cents  `json:"price" doc:"Of the service itself"`
	CustomDuration    *int           `json:"custom_duration" doc:"Minutes of this professional; null: the service's"`
	CustomPrice       *booking.Cents `json:"custom_price" doc:"Amount of this professional; null: the service's"`
	EffectiveDuration int            `json:"effective_duration" doc:"Minutes that count"`
	EffectivePrice    booking.Cents  `json:"effective_price" doc:"Amount that counts"`
}

type offeredOutput struct{ Body []OfferedService }

func toOfferedService(row store.ProfessionalService) OfferedService {
	offer := booking.NewOffer(store.ServiceRules(row.Service), booking.Override{DurationMinutes: row.CustomDurationMinutes, Price: row.CustomPriceCents}, booking.Policy{})
	return OfferedService{
		ServiceID: row.Service.ID, Name: row.Service.Name, DurationMinutes: row.Service.DurationMinutes, Price: row.Service.PriceCents,
		CustomDuration: row.CustomDurationMinutes, CustomPrice: row.CustomPriceCents,
		EffectiveDuration: int(offer.Duration.Minutes()), EffectivePrice: offer.Price,
	}
}

func (a *API) listProfessionalServices(ctx context.Context, in *ByID) (*offeredOutput, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	if err := requireProfessional(ctx, a.store.DB, org, in.ID); err != nil {
		return nil, err
	}
	rows, err := a.store.ListProfessionalServices(ctx, org, in.ID)
	return &offeredOutput{rest.Map(rows, toOfferedService)}, err
}

type setServicesInput struct {
	ByID
	Body struct {
		ServiceIDs []uuid.UUID               `json:"service_ids" maxItems:"1000" nullable:"false" doc:"Everything that the professional offers"`
		Overrides  map[string]overrideFields `json:"overrides,omitempty" doc:"By service id"`
	} `nameHint:"ProfessionalServices"`
}

type overrideFields struct {
	CustomDuration nullable[int]           `json:"custom_duration,omitempty" minimum:"5" maximum:"1440" doc:"Minutes; null or absent: the service's"`
	CustomPrice    nullable[booking.Cents] `json:"custom_price,omitempty" minimum:"0" maximum:"99999999.99" doc:"null or absent: the service's"`
}

// parseOverrides validates the professional's own durations and prices, by service.
func (in *setServicesInput) parseOverrides(currency string) (map[uuid.UUID]booking.Override, error) {
	var errs fieldErrors
	offered := make(map[uuid.UUID]bool, len(in.Body.ServiceIDs))
	for _, id := range in.Body.ServiceIDs {
		offered[id] = true
	}
	overrides := make(map[uuid.UUID]booking.Override, len(in.Body.Overrides))
	for key, fields := range in.Body.Overrides {
		id, err := uuid.Parse(key)
		if err != nil || !offered[id] {
			errs.Check(false, "body.overrides", "must only name services of service_ids")
			continue
		}
		errs.checkAmount(fields.CustomPrice.Pointer(), currency, "body.overrides."+id.String()+".custom_price")
		var override booking.Override
		fields.CustomDuration.ApplyTo(&override.DurationMinutes)
		fields.CustomPrice.ApplyTo(&override.Price)
		if err := errs.merge(override.Validate("overrides." + id.String())); err != nil {
			return nil, err
		}
		overrides[id] = override
	}
	return overrides, errs.Err()
}

func (a *API) setProfessionalServices(ctx context.Context, in *setServicesInput) (*offeredOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	overrides, err := in.parseOverrides(org.Currency)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(in.Body.ServiceIDs, func(x, y uuid.UUID) int { return strings.Compare(x.String(), y.String()) })
	ids := slices.Compact(in.Body.ServiceIDs)
	err = a.store.InTx(ctx, "setting services", func(tx *store.Tx) error {
		if _, err := tx.LockProfessional(ctx, org.ID, in.ID); err != nil {
			return rest.NotFoundIfNoRows("Professional", err)
		}
		count, err := tx.CountServices(ctx, org.ID, ids)
		if err != nil {
			return err
		}
		if count != len(ids) {
			return hub.NotFound("Service")
		}
		return tx.SetProfessionalServices(ctx, org.ID, in.ID, ids, overrides)
	})
	if err != nil {
		return nil, err
	}
	return a.listProfessionalServices(ctx, &in.ByID)
}
