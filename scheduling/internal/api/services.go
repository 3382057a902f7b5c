package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

const defaultColor = "#3B82F6"

// Service is a bookable service.
type Service struct {
	ID                  uuid.UUID      `json:"id" doc:"Names the service in paths and events"`
	Name                string         `json:"name" doc:"How clients see it"`
	Description         string         `json:"description" doc:"Text that people see"`
	DurationMinutes     int            `json:"duration_minutes" doc:"Length in minutes"`
	Price               booking.Cents  `json:"price" doc:"Amount to pay, in the organization's currency"`
	Color               string         `json:"color" doc:"How calendars paint it, #RRGGBB"`
	RequiresDeposit     bool           `json:"requires_deposit" doc:"Whether a part is paid in advance"`
	DepositAmount       *booking.Cents `json:"deposit_amount" doc:"Part of the price that is paid in advance; null: none"`
	IsActive            bool           `json:"is_active" doc:"Whether it is in use"`
	IsPublic            bool           `json:"is_public" doc:"Whether clients see it online"`
	Position            int            `json:"position" doc:"Order in lists, from 0"`
	Category            *string        `json:"category" doc:"Heading it is listed below; null: none"`
	Capacity            int            `json:"capacity" doc:"How many clients at the same time"`
	SlotIntervalMinutes *int           `json:"slot_interval_minutes" doc:"Distance between offered times; null: as the settings have it"`
	BufferBeforeMinutes *int           `json:"buffer_before_minutes" doc:"Time kept free before; null: as the settings have it"`
	BufferAfterMinutes  *int           `json:"buffer_after_minutes" doc:"Time kept free after; null: as the settings have it"`
	ImageURL            *string        `json:"image_url" doc:"Picture of it; null: none"`
	CreatedAt           time.Time      `json:"created_at" doc:"When it was stored"`
	UpdatedAt           time.Time      `json:"updated_at" doc:"When it was last changed"`
}

type serviceOutput struct{ Body Service }

type serviceFields struct {
	Name                optional[string]        `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How clients see it" example:"Corte"`
	Description         nullable[string]        `json:"description,omitempty" maxLength:"2000" doc:"null: empty"`
	DurationMinutes     optional[int]           `json:"duration_minutes,omitempty" minimum:"5" maximum:"1440" doc:"Length in minutes" example:"30"`
	Price               optional[booking.Cents] `json:"price,omitempty" minimum:"0" maximum:"99999999.99" doc:"Amount to pay, in the organization's currency"`
	Color               optional[string]        `json:"color,omitempty" maxLength:"7" pattern:"^#[0-9A-Fa-f]{6}$" doc:"How calendars paint it, #RRGGBB"`
	RequiresDeposit     optional[bool]          `json:"requires_deposit,omitempty" doc:"Whether a part is paid in advance"`
	DepositAmount       nullable[booking.Cents] `json:"deposit_amount,omitempty" minimum:"0" maximum:"99999999.99" doc:"null: none"`
	IsActive            optional[bool]          `json:"is_active,omitempty" doc:"Whether it is in use"`
	IsPublic            optional[bool]          `json:"is_public,omitempty" doc:"Whether clients see it online"`
	Category            nullable[string]        `json:"category,omitempty" maxLength:"120" doc:"null: none"`
	Capacity            optional[int]           `json:"capacity,omitempty" minimum:"1" maximum:"100" doc:"How many clients at the same time"`
	SlotIntervalMinutes nullable[int]           `json:"slot_interval_minutes,omitempty" minimum:"5" maximum:"240" doc:"null: as the settings have it"`
	BufferBeforeMinutes nullable[int]           `json:"buffer_before_minutes,omitempty" minimum:"0" maximum:"240" doc:"null: as the settings have it"`
	BufferAfterMinutes  nullable[int]           `json:"buffer_after_minutes,omitempty" minimum:"0" maximum:"240" doc:"null: as the settings have it"`
	ImageURL            nullable[string]        `json:"image_url,omitempty" maxLength:"2048" doc:"Address of a picture, https; null: none. Either removes an uploaded picture"`
}

type createServiceInput struct {
	Body serviceFields `nameHint:"ServiceFields"`
}

type updateServiceInput struct {
	ByID
	Body serviceFields `nameHint:"ServiceFields"`
}

func (a *API) toService(row store.Service, zone *time.Location) Service {
	return Service{
		ID: row.ID, Name: row.Name, Description: row.Description, DurationMinutes: row.DurationMinutes, Price: row.PriceCents, Color: row.Color,
		RequiresDeposit: row.RequiresDeposit, DepositAmount: row.DepositCents, IsActive: row.IsActive, IsPublic: row.IsPublic, Position: row.Position,
		Category: row.Category, Capacity: row.Capacity, SlotIntervalMinutes: row.SlotIntervalMinutes, BufferBeforeMinutes: row.BufferBeforeMinutes,
		BufferAfterMinutes: row.BufferAfterMinutes, ImageURL: a.publicBooking.PhotoURL(row.ImageKey, row.ImageUrl), CreatedAt: row.CreatedAt.In(zone), UpdatedAt: row.UpdatedAt.In(zone),
	}
}

// applyTo applies the fields to a service and validates the result. uploaded is the address
// of its uploaded picture; nil: none.
func (f *serviceFields) applyTo(service *store.Service, uploaded *string, currency string) error {
	var errs fieldErrors
	f.Name.ApplyTo(&service.Name)
	f.Description.ApplyOrZero(&service.Description)
	f.DurationMinutes.ApplyTo(&service.DurationMinutes)
	f.Price.ApplyTo(&service.PriceCents)
	f.Color.ApplyTo(&service.Color)
	f.RequiresDeposit.ApplyTo(&service.RequiresDeposit)
	f.DepositAmount.ApplyTo(&service.DepositCents)
	f.IsActive.ApplyTo(&service.IsActive)
	f.IsPublic.ApplyTo(&service.IsPublic)
	f.Category.ApplyTo(&service.Category)
	f.Capacity.ApplyTo(&service.Capacity)
	f.SlotIntervalMinutes.ApplyTo(&service.SlotIntervalMinutes)
	f.BufferBeforeMinutes.ApplyTo(&service.BufferBeforeMinutes)
	f.BufferAfterMinutes.ApplyTo(&service.BufferAfterMinutes)
	errs.applyPhoto(f.ImageURL, &service.ImageUrl, &service.ImageKey, uploaded, "body.image_url")
	if !service.RequiresDeposit {
		service.DepositCents = nil
	}
	service.Name = strings.TrimSpace(service.Name)
	errs.checkName(f.Name.HasValue(), service.Name)
	errs.CheckLength(service.Description, "body.description", 0, 2000)
	errs.checkColor(service.Color, "body.color")
	errs.CheckLength(pointer.ValueOrZero(service.Category), "body.category", 0, 120)
	errs.checkAmount(f.Price.Pointer(), currency, "body.price")
	errs.checkAmount(f.DepositAmount.Pointer(), currency, "body.deposit_amount")
	if err := errs.merge(store.ServiceRules(*service).Validate()); err != nil {
		return err
	}
	return errs.Err()
}

func (a *API) listServices(ctx context.Context, _ *struct{}) (*listOutput[Service], error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListServices(ctx, org.ID)
	return toListOutput(rows, func(service store.Service) Service { return a.toService(service, org.Zone) }), err
}

func (a *API) createService(ctx context.Context, in *createServiceInput) (*serviceOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Service{OrgID: org.ID, ID: store.NewID(), Color: defaultColor, Capacity: 1, IsActive: true, IsPublic: true}
	if !in.Body.DurationMinutes.HasValue() {
		return nil, hub.Invalid("body.duration_minutes", "is required")
	}
	if err := in.Body.applyTo(&draft, nil, org.Currency); err != nil {
		return nil, err
	}
	created, err := a.store.AddService(ctx, draft)
	return &serviceOutput{a.toService(created, org.Zone)}, err
}

func (a *API) updateService(ctx context.Context, in *updateServiceInput) (*serviceOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	updated, previous, err := a.changeService(ctx, org.ID, in.ID, func(service *store.Service) error {
		return in.Body.applyTo(service, a.publicBooking.PhotoURL(service.ImageKey, nil), org.Currency)
	})
	if err == nil && updated.ImageKey == nil {
		a.deleteFile(ctx, previous)
	}
	return &serviceOutput{a.toService(updated, org.Zone)}, err
}

// changeService changes a service and returns it, with the file that was its picture
// before.
func (a *API) changeService(ctx context.Context, org, id uuid.UUID, change func(*store.Service) error) (updated store.Service, picture *string, err error) {
	err = a.store.InTx(ctx, "updating a service", func(tx *store.Tx) error {
		service, err := tx.LockService(ctx, org, id)
		if err != nil {
			return rest.NotFoundIfNoRows("Service", err)
		}
		picture = service.ImageKey
		if err := change(&service); err != nil {
			return err
		}
		updated, err = tx.SaveService(ctx, service)
		return err
	})
	return updated, picture, err
}

func (a *API) uploadServiceImage(ctx context.Context, in *photoInput) (*serviceOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.Service
	err = a.replacePicture(ctx, in.RawBody.Data().File, func(name *string) (previous *string, err error) {
		updated, previous, err = a.changeService(ctx, org.ID, in.ID, func(service *store.Service) error {
			service.ImageKey, service.ImageUrl = name, nil
			return nil
		})
		return previous, err
	})
	return &serviceOutput{a.toService(updated, org.Zone)}, err
}

func (a *API) deleteServiceImage(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	_, previous, err := a.changeService(ctx, org, in.ID, func(service *store.Service) error {
		service.ImageKey, service.ImageUrl = nil, nil
		return nil
	})
	if err == nil {
		a.deleteFile(ctx, previous)
	}
	return nil, err
}

// deleteService marks the row as deleted: appointments refer to it.
func (a *API) deleteService(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	var picture *string
	err = a.store.InTx(ctx, "removing a service", func(tx *store.Tx) error {
		service, err := tx.LockService(ctx, org, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Service", err)
		}
		picture = service.ImageKey
		return tx.RemoveService(ctx, org, in.ID)
	})
	if err == nil {
		a.deleteFile(ctx, picture)
	}
	return nil, err
}

type reorderInput struct {
	Body struct {
		ServiceIDs []uuid.UUID    `json:"service_ids,omitempty" maxItems:"1000" doc:"In their new order; services not named follow in theirs"`
		Items      []servicePlace `json:"items,omitempty" maxItems:"1000" doc:"The same, by position"`
	} `nameHint:"ServiceOrder"`
}

// servicePlace is the position of a service.
type servicePlace struct {
	ID       uuid.UUID `json:"id" doc:"Names the service"`
	Position int       `json:"position" minimum:"-2147483648" maximum:"2147483647" doc:"Order in lists, from 0"`
}

func (a *API) reorderServices(ctx context.Context, in *reorderInput) (*listOutput[Service], error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	order, location := in.Body.ServiceIDs, "body.service_ids"
	if order == nil {
		location = "body.items"
		items := slices.Clone(in.Body.Items)
		slices.SortStableFunc(items, func(x, y servicePlace) int { return x.Position - y.Position })
		for _, item := range items {
			order = append(order, item.ID)
		}
	}
	if len(order) == 0 {
		return nil, hub.Invalid("body.service_ids", "is required")
	}
	err = a.store.InTx(ctx, "reordering services", func(tx *store.Tx) error {
		services, err := tx.LockServices(ctx, org)
		if err != nil {
			return err
		}
		order, err := completeOrder(order, services, location)
		if err != nil {
			return err
		}
		return tx.SetServicePositions(ctx, org, order)
	})
	if err != nil {
		return nil, err
	}
	return a.listServices(ctx, nil)
}

// completeOrder returns the named services, then the others in their present order.
func completeOrder(first []uuid.UUID, services []store.Service, location string) ([]uuid.UUID, error) {
	unplaced := make(map[uuid.UUID]bool, len(services))
	for _, service := range services {
		unplaced[service.ID] = true
	}
	order := make([]uuid.UUID, 0, len(services))
	for _, id := range first {
		isUnplaced, isKnown := unplaced[id]
		switch {
		case !isKnown:
			return nil, hub.NotFound("Service")
		case !isUnplaced:
			return nil, hub.Invalid(location, "must not name a service twice")
		}
		unplaced[id] = false
		order = append(order, id)
	}
	for _, service := range services {
		if unplaced[service.ID] {
			order = append(order, service.ID)
		}
	}
	return order, nil
}
