// Package alerts publishes the hub's operational events, to tenants' endpoints and to the
// alerts of operators: by e-mail and webhook. What happens leaves signals in the database, in
// the transaction of the change; any process publishes them, each once.
package alerts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Kinds of alerts.
const (
	KindEmail   = "email"
	KindWebhook = "webhook"
)

const (
	maxAlerts  = 100 // of an installation: each signal is compared with all of them
	alertsLock = 7240914
)

// Alert is where operators want to be notified of operational events.
type Alert struct {
	ID             uuid.UUID
	Kind           string
	Target         string     // an e-mail address or a URL
	Events         []string   // types of events, or prefixes such as hub.*
	Product        *string    // only those of this product's tenants; nil = of all
	TenantID       *uuid.UUID // only those of this tenant; nil = of all
	Enabled        bool
	DisabledReason *string // why the hub disabled it, such as gone; nil = it did not
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// State is the part of an alert that its owner sets.
type State struct {
	Target   string
	Events   []string
	Product  *string
	TenantID *uuid.UUID
	Enabled  bool
}

// Service manages alerts.
type Service struct {
	db        *pgxpool.Pool
	endpoints *registry.Endpoints
	mail      *mail.Outbox
}

// NewService returns a manager of the alerts in db. endpoints stores those of webhooks.
func NewService(db *pgxpool.Pool, endpoints *registry.Endpoints, mail *mail.Outbox) *Service {
	return &Service{db: db, endpoints: endpoints, mail: mail}
}

// Create creates an alert. secret signs the webhooks of one of that kind; it is never shown
// again. Mail without a server for it is a [hub.ErrInvalid].
func (s *Service) Create(ctx context.Context, kind string, state State) (alert Alert, secret string, err error) {
	if err := s.check(kind, state); err != nil {
		return Alert{}, "", err
	}
	err = store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, alertsLock); err != nil {
			return fmt.Errorf("locking the alerts: %w", err)
		}
		count, err := queries.CountAlerts(ctx)
		if err != nil {
			return fmt.Errorf("counting alerts: %w", err)
		}
		if count >= maxAlerts {
			return hub.Errorf(hub.ErrInvalid, "alert_limit", "There are %d alerts, which is as many as there may be. Delete one first.", count)
		}
		if err := checkReferences(ctx, queries, state); err != nil {
			return err
		}
		id := uuid.Must(uuid.NewV7())
		if kind == KindWebhook {
			if id, secret, err = s.endpoints.CreateForAlert(ctx, tx, state.Target, state.Enabled); err != nil {
				return err
			}
		}
		row, err := queries.CreateAlert(ctx, dbgen.CreateAlertParams{
			ID: id, Kind: kind, Target: state.Target, Events: state.Events, Product: state.Product, TenantID: state.TenantID, Enabled: state.Enabled,
		})
		alert = alertOf(row, nil)
		return alertStoreError("storing the alert", err)
	})
	if err != nil {
		return Alert{}, "", err
	}
	return alert, secret, nil
}

// Get loads an alert. An unknown one is a [hub.ErrNotFound].
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Alert, error) {
	row, err := dbgen.New(s.db).AlertByID(ctx, id)
	return alertOf(row.Alert, row.DisabledReason), store.Wrap("loading the alert", err)
}

// List returns up to limit alerts, newest first, that follow the id before.
func (s *Service) List(ctx context.Context, before *uuid.UUID, limit int) ([]Alert, error) {
	rows, err := dbgen.New(s.db).ListAlerts(ctx, before, int32(limit))
	if err != nil {
		return nil, store.Wrap("listing alerts", err)
	}
	list := make([]Alert, len(rows))
	for i, row := range rows {
		list[i] = alertOf(row.Alert, row.DisabledReason)
	}
	return list, nil
}

// Update replaces everything but an alert's kind and secret, and returns the names of the
// settings that this changed.
func (s *Service) Update(ctx context.Context, id uuid.UUID, state State) (alert Alert, changed []string, err error) {
	present, err := s.Get(ctx, id)
	if err != nil {
		return Alert{}, nil, err
	}
	if err := s.check(present.Kind, state); err != nil {
		return Alert{}, nil, err
	}
	if changed = changes(present, state); len(changed) == 0 {
		return present, nil, nil
	}
	err = store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if err := checkReferences(ctx, queries, state); err != nil {
			return err
		}
		row, err := queries.UpdateAlert(ctx, dbgen.UpdateAlertParams{
			ID: id, Target: state.Target, Events: state.Events, Product: state.Product, TenantID: state.TenantID, Enabled: state.Enabled,
		})
		if err != nil {
			return alertStoreError("changing the alert", err)
		}
		if !state.Enabled { // what happened before is not mailed once it is enabled again
			if err := queries.DeleteAlertNotices(ctx, id); err != nil {
				return store.Wrap("dropping an alert's notices", err)
			}
		}
		reason := present.DisabledReason
		if state.Enabled {
			reason = nil
		}
		alert = alertOf(row, reason)
		if present.Kind != KindWebhook {
			return nil
		}
		return s.endpoints.UpdateForAlert(ctx, tx, id, state.Target, state.Enabled)
	})
	if err != nil {
		return Alert{}, nil, err
	}
	return alert, changed, nil
}

// Delete deletes an alert, and fails what waits for its webhook.
func (s *Service) Delete(ctx context.Context, id uuid.UUID) error {
	deleted, err := dbgen.New(s.db).DeleteAlert(ctx, id)
	if err == nil && deleted == 0 {
		return hub.NotFound("Alert")
	}
	return store.Wrap("deleting the alert", err)
}

// RotateSecret replaces the secret that signs an alert's webhooks and returns the new one.
// An alert by e-mail is a [hub.ErrConflict].
func (s *Service) RotateSecret(ctx context.Context, id uuid.UUID, rotation registry.Rotation) (alert Alert, secret string, err error) {
	if alert, err = s.Get(ctx, id); err != nil {
		return Alert{}, "", err
	}
	if alert.Kind != KindWebhook {
		return Alert{}, "", hub.Errorf(hub.ErrConflict, "alert_has_no_secret", "This alert is sent by e-mail: only webhooks have a secret.")
	}
	_, secret, err = s.endpoints.RotateSecret(ctx, registry.AlertScope(), id, rotation)
	return alert, secret, err
}

// SendTestMail sends a test to an alert by e-mail.
func (s *Service) SendTestMail(ctx context.Context, alert Alert) error {
	if err := s.checkMail(); err != nil {
		return err
	}
	return store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		return s.mail.SendOwn(ctx, tx, alert.Target, "Test of an alert", "This is a test. Alerts about "+strings.Join(alert.Events, ", ")+" come to this address.\n")
	})
}

// check returns a [hub.ErrInvalid] for settings that are not possible.
func (s *Service) check(kind string, state State) error {
	if len(state.Events) == 0 {
		return hub.Invalid("body.events", "must have 1 to 100 entries")
	}
	if err := registry.CheckEventTypes("body.events", state.Events); err != nil {
		return err
	}
	for i, pattern := range state.Events {
		matches := slices.ContainsFunc(events.FromHub(), func(name string) bool { return hub.MatchesEventType([]string{pattern}, name) })
		if !matches {
			return hub.Invalid("body.events["+strconv.Itoa(i)+"]", "must be hub.*, or an operational event such as "+events.TypeEndpointFailing)
		}
	}
	if state.Product != nil && state.TenantID != nil {
		return hub.Invalid("body.product", "is for alerts without a tenant_id: a tenant has one product")
	}
	if kind == KindWebhook {
		return s.endpoints.CheckURL("body.target", state.Target)
	}
	if err := mail.CheckAddress("body.target", state.Target); err != nil {
		return err
	}
	return s.checkMail()
}

// checkMail returns a [hub.ErrInvalid] if mail goes nowhere.
func (s *Service) checkMail() error {
	if s.mail.CanSend() {
		return nil
	}
	return hub.Errorf(hub.ErrInvalid, "mail_not_configured", "This hub cannot send mail: set HUB_SMTP_URL and start it again, or make an alert of kind webhook.")
}

// checkReferences returns a [hub.ErrInvalid] if there is no such product or tenant.
func checkReferences(ctx context.Context, queries *dbgen.Queries, state State) error {
	if state.Product != nil {
		if _, err := queries.ProductByName(ctx, *state.Product); err != nil {
			return invalidReference(err, "body.product", noSuchProduct)
		}
	}
	if state.TenantID != nil {
		if _, err := queries.TenantByID(ctx, *state.TenantID); err != nil {
			return invalidReference(err, "body.tenant_id", noSuchTenant)
		}
	}
	return nil
}

func changes(present Alert, state State) (names []string) {
	for _, setting := range []struct {
		name    string
		changes bool
	}{
		{"target", present.Target != state.Target},
		{"events", !slices.Equal(present.Events, state.Events)},
		{"product", !equalPointers(present.Product, state.Product)},
		{"tenant_id", !equalPointers(present.TenantID, state.TenantID)},
		{"enabled", present.Enabled != state.Enabled},
	} {
		if setting.changes {
			names = append(names, setting.name)
		}
	}
	return names
}

func equalPointers[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func alertOf(row dbgen.Alert, disabledReason *string) Alert {
	return Alert{
		ID: row.ID, Kind: row.Kind, Target: row.Target, Events: row.Events, Product: row.Product, TenantID: row.TenantID,
		Enabled: row.Enabled && disabledReason == nil, DisabledReason: disabledReason, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}
