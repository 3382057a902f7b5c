package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const defaultColor = "#3B82F6"

// Service is something that can be booked.
type Service struct {
	ID                  uuid.UUID      `json:"id"`
	Name                string         `json:"name"`
	Description         string         `json:"description"`
	DurationMinutes     int            `json:"duration_minutes"`
	Price               booking.Cents  `json:"price"`
	Color               string         `json:"color"`
	RequiresDeposit     bool           `json:"requires_deposit"`
	DepositAmount       *booking.Cents `json:"deposit_amount"`
	IsActive            bool           `json:"is_active"`
	IsPublic            bool           `json:"is_public"`
	Position            int            `json:"position"`
	Category            *string        `json:"category"`
	Capacity            int            `json:"capacity"`
	SlotIntervalMinutes *int           `json:"slot_interval_minutes"`
	BufferBeforeMinutes *int           `json:"buffer_before_minutes"`
	BufferAfterMinutes  *int           `json:"buffer_after_minutes"`
	ImageURL            *string        `json:"image_url"`
	CreatedAt           time.Time      `json:"created_at"`
	UpdatedAt           time.Time      `json:"updated_at"`
}

type serviceOutput struct{ Body Service }

type serviceFields struct {
	Name                optional[string]        `json:"name,omitempty" example:"Corte"`
	Description         optional[string]        `json:"description,omitempty"`
	DurationMinutes     optional[int]           `json:"duration_minutes,omitempty" example:"30"`
	Price               optional[booking.Cents] `json:"price,omitempty"`
	Color               optional[string]        `json:"color,omitempty"`
	RequiresDeposit     optional[bool]          `json:"requires_deposit,omitempty"`
	DepositAmount       optional[booking.Cents] `json:"deposit_amount,omitempty"`
	IsActive            optional[bool]          `json:"is_active,omitempty"`
	IsPublic            optional[bool]          `json:"is_public,omitempty"`
	Category            optional[string]        `json:"category,omitempty"`
	Capacity            optional[int]           `json:"capacity,omitempty"`
	SlotIntervalMinutes optional[int]           `json:"slot_interval_minutes,omitempty"`
	BufferBeforeMinutes optional[int]           `json:"buffer_before_minutes,omitempty"`
	BufferAfterMinutes  optional[int]           `json:"buffer_after_minutes,omitempty"`
	ImageURL            optional[string]        `json:"image_url,omitempty"`
}

type createServiceInput struct {
	Body serviceFields `nameHint:"ServiceFields"`
}

type updateServiceInput struct {
	ByID
	Body serviceFields `nameHint:"ServiceFields"`
}

func toService(s dbgen.Service, zone *time.Location) Service {
	return Service{
		ID: s.ID, Name: s.Name, Description: s.Description, DurationMinutes: s.DurationMinutes, Price: s.PriceCents, Color: s.Color,
		RequiresDeposit: s.RequiresDeposit, DepositAmount: s.DepositCents, IsActive: s.IsActive, IsPublic: s.IsPublic, Position: s.Position,
		Category: s.Category, Capacity: s.Capacity, SlotIntervalMinutes: s.SlotIntervalMinutes, BufferBeforeMinutes: s.BufferBeforeMinutes,
		BufferAfterMinutes: s.BufferAfterMinutes, ImageURL: s.ImageUrl, CreatedAt: s.CreatedAt.In(zone), UpdatedAt: s.UpdatedAt.In(zone),
	}
}

// applyTo applies the fields to a service and checks what comes out.
func (f *serviceFields) applyTo(s *dbgen.Service, currency string) error {
	f.Name.ApplyTo(&s.Name)
	f.Description.ApplyTo(&s.Description)
	f.DurationMinutes.ApplyTo(&s.DurationMinutes)
	f.Price.ApplyTo(&s.PriceCents)
	f.Color.ApplyTo(&s.Color)
	f.RequiresDeposit.ApplyTo(&s.RequiresDeposit)
	f.DepositAmount.ApplyToNullable(&s.DepositCents)
	f.IsActive.ApplyTo(&s.IsActive)
	f.IsPublic.ApplyTo(&s.IsPublic)
	f.Category.ApplyToNullable(&s.Category)
	f.Capacity.ApplyTo(&s.Capacity)
	f.SlotIntervalMinutes.ApplyToNullable(&s.SlotIntervalMinutes)
	f.BufferBeforeMinutes.ApplyToNullable(&s.BufferBeforeMinutes)
	f.BufferAfterMinutes.ApplyToNullable(&s.BufferAfterMinutes)
	f.ImageURL.ApplyToNullable(&s.ImageUrl)
	if f.Description.Null {
		s.Description = ""
	}
	if !s.RequiresDeposit {
		s.DepositCents = nil
	}
	s.Name = strings.TrimSpace(s.Name)
	var wrong fieldErrors
	wrong.CheckLength(s.Name, "body.name", 1, 120)
	wrong.CheckLength(s.Description, "body.description", 0, 2000)
	wrong.checkColor(s.Color, "body.color")
	wrong.CheckLength(valueOrEmpty(s.Category), "body.category", 0, 120)
	wrong.CheckURL(s.ImageUrl, "body.image_url")
	wrong.checkAmount(f.Price, currency, "body.price")
	wrong.checkAmount(f.DepositAmount, currency, "body.deposit_amount")
	if err := wrong.merge(store.ServiceRules(*s).Validate()); err != nil {
		return err
	}
	return wrong.Err()
}

func (a *API) listServices(ctx context.Context, _ *struct{}) (*listOutput[Service], error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListServices(ctx, org.ID)
	return toListOutput(rows, func(s dbgen.Service) Service { return toService(s, org.Zone) }), err
}

func (a *API) createService(ctx context.Context, in *createServiceInput) (*serviceOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	s := dbgen.Service{Color: defaultColor, Capacity: 1, IsActive: true, IsPublic: true}
	if !in.Body.DurationMinutes.HasValue() {
		return nil, hub.Invalid("body.duration_minutes", "is required")
	}
	if err := in.Body.applyTo(&s, org.Currency); err != nil {
		return nil, err
	}
	made, err := a.store.CreateService(ctx, dbgen.CreateServiceParams{
		OrgID: org.ID, ID: store.NewID(), Name: s.Name, Description: s.Description, DurationMinutes: s.DurationMinutes, PriceCents: s.PriceCents,
		Color: s.Color, RequiresDeposit: s.RequiresDeposit, DepositCents: s.DepositCents, Category: s.Category, Capacity: s.Capacity,
		SlotIntervalMinutes: s.SlotIntervalMinutes, BufferBeforeMinutes: s.BufferBeforeMinutes, BufferAfterMinutes: s.BufferAfterMinutes,
		ImageUrl: s.ImageUrl, IsActive: s.IsActive, IsPublic: s.IsPublic,
	})
	return &serviceOutput{toService(made, org.Zone)}, err
}

func (a *API) updateService(ctx context.Context, in *updateServiceInput) (*serviceOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var done dbgen.Service
	err = a.store.InTx(ctx, "updating a service", func(tx *store.Tx) error {
		s, err := tx.LockService(ctx, org.ID, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Service", err)
		}
		if err := in.Body.applyTo(&s, org.Currency); err != nil {
			return err
		}
		done, err = tx.UpdateService(ctx, dbgen.UpdateServiceParams{
			OrgID: org.ID, ID: s.ID, Name: s.Name, Description: s.Description, DurationMinutes: s.DurationMinutes, PriceCents: s.PriceCents,
			Color: s.Color, RequiresDeposit: s.RequiresDeposit, DepositCents: s.DepositCents, Category: s.Category, Capacity: s.Capacity,
			SlotIntervalMinutes: s.SlotIntervalMinutes, BufferBeforeMinutes: s.BufferBeforeMinutes, BufferAfterMinutes: s.BufferAfterMinutes,
			ImageUrl: s.ImageUrl, IsActive: s.IsActive, IsPublic: s.IsPublic, UpdatedAt: tx.Now(),
		})
		return err
	})
	return &serviceOutput{toService(done, org.Zone)}, err
}

// deleteService keeps the row for the appointments that name it.
func (a *API) deleteService(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	n, err := a.store.DeleteService(ctx, dbgen.DeleteServiceParams{OrgID: org, ID: in.ID, Now: a.host.Now()})
	return nil, requireRowChanged("Service", n, err)
}

type reorderInput struct {
	Body struct {
		ServiceIDs []uuid.UUID    `json:"service_ids,omitempty" maxItems:"1000" doc:"In their new order; services not named follow in theirs"`
		Items      []servicePlace `json:"items,omitempty" maxItems:"1000" doc:"The same, by position"`
	} `nameHint:"ServiceOrder"`
}

// servicePlace is where a service goes.
type servicePlace struct {
	ID       uuid.UUID `json:"id"`
	Position int       `json:"position"`
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
		all, err := tx.LockServices(ctx, org)
		if err != nil {
			return err
		}
		order, err := completeOrder(order, all, location)
		if err != nil {
			return err
		}
		return tx.PlaceServices(ctx, org, order)
	})
	if err != nil {
		return nil, err
	}
	return a.listServices(ctx, nil)
}

// completeOrder gives the services their order: those that are named, then the others in
// theirs.
func completeOrder(named []uuid.UUID, all []dbgen.Service, location string) ([]uuid.UUID, error) {
	left := make(map[uuid.UUID]bool, len(all))
	for _, s := range all {
		left[s.ID] = true
	}
	order := make([]uuid.UUID, 0, len(all))
	for _, id := range named {
		others, known := left[id]
		switch {
		case !known:
			return nil, hub.NotFound("Service")
		case !others:
			return nil, hub.Invalid(location, "must not name a service twice")
		}
		left[id] = false
		order = append(order, id)
	}
	for _, s := range all {
		if left[s.ID] {
			order = append(order, s.ID)
		}
	}
	return order, nil
}
