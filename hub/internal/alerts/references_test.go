package alerts_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
)

// newService returns the alerts of a hub that sends no mail.
func (p *place) newService() *alerts.Service {
	p.t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(p.t, err)
	guard, err := egress.New(egress.Config{})
	require.NoError(p.t, err)
	return alerts.NewService(p.db, registry.NewEndpoints(p.db, box, guard, p.clock.Now), nil)
}

// duringDeletion runs write while a transaction has deleted something, commits that once write
// waits for it, and returns write's error.
func (p *place) duringDeletion(deletion string, id any, write func() error) error {
	p.t.Helper()
	tx, err := p.db.Begin(p.t.Context())
	require.NoError(p.t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(p.t.Context())) }()
	deleted, err := tx.Exec(p.t.Context(), deletion, id)
	require.NoError(p.t, err)
	require.EqualValues(p.t, 1, deleted.RowsAffected())
	written := make(chan error, 1)
	go func() { written <- write() }()
	require.Eventually(p.t, func() bool {
		return p.count(`pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 1
	}, time.Minute, time.Millisecond, "the write has checked what the alert names, and waits for the deletion")
	require.NoError(p.t, tx.Commit(p.t.Context()))
	return <-written
}

// refusedField returns the only field that a [hub.ErrInvalid] is about, and what it says.
func refusedField(t *testing.T, err error) hub.FieldError {
	t.Helper()
	var problem *hub.Error
	require.ErrorAs(t, err, &problem)
	require.ErrorIs(t, err, hub.ErrInvalid)
	require.Len(t, problem.Fields, 1)
	return problem.Fields[0]
}

// What an alert names is deleted after it was checked, before the alert is stored: the refusal
// is that of an unknown one, and nothing is left of the alert.
func TestAlertOfWhatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	service := p.newService()
	state := alerts.State{Target: "https://example.com/alerts", Events: []string{"hub.*"}, Enabled: true}
	kept, _, err := service.Create(t.Context(), alerts.KindWebhook, state)
	require.NoError(t, err)
	for name, write := range map[string]func(alerts.State) error{
		"creating": func(state alerts.State) error {
			_, _, err := service.Create(t.Context(), alerts.KindWebhook, state)
			return err
		},
		"changing": func(state alerts.State) error {
			_, _, err := service.Update(t.Context(), kept.ID, state)
			return err
		},
	} {
		tenant, product := p.newTenant(), name
		p.exec(`insert into hub.products (name, prefix, title) values ($1, left($1, 4), $1)`, product)
		ofTenant, ofProduct := state, state
		ofTenant.TenantID, ofProduct.Product = &tenant, &product
		refused := refusedField(t, p.duringDeletion(`delete from hub.tenants where id = $1`, tenant, func() error { return write(ofTenant) }))
		require.Equal(t, hub.FieldError{Location: "body.tenant_id", Message: "there is no such tenant"}, refused, name)
		require.Equal(t, refused, refusedField(t, write(ofTenant)), "it is refused so a moment later")
		refused = refusedField(t, p.duringDeletion(`delete from hub.products where name = $1`, product, func() error { return write(ofProduct) }))
		require.Equal(t, hub.FieldError{Location: "body.product", Message: "there is no such product"}, refused, name)
		require.Equal(t, refused, refusedField(t, write(ofProduct)), "it is refused so a moment later")
	}
	present, err := service.Get(t.Context(), kept.ID)
	require.NoError(t, err)
	require.Equal(t, kept, present)
	require.Equal(t, 1, p.count(`hub.alerts`))
	require.Equal(t, 1, p.count(`hub.endpoints`), "that of the alert that is kept")
}
