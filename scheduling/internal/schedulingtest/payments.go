package schedulingtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

// modifiedHost is the product on a host that the test changed.
type modifiedHost struct {
	module.Module
	modify func(*module.Host)
}

// Open implements [module.Module].
func (m modifiedHost) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	m.modify(&host)
	return m.Module.Open(ctx, host)
}

// NewBookableOn returns a bookable organization of a product whose host the test changed.
func NewBookableOn(t testing.TB, modify func(*module.Host)) *Bookable {
	t.Helper()
	return RegisterOrganization(t, startHub(t, modifiedHost{scheduling.New(), modify}, moduletest.Options{})).MakeBookable()
}

// NewPaidBookable returns a bookable organization whose charges the sandbox collects.
func NewPaidBookable(t testing.TB) *Bookable {
	t.Helper()
	return NewBookableAlone(t, "HUB_PAYMENT_PROVIDER=sandbox")
}

// NewDepositBookable returns a bookable organization whose service needs a deposit of 20.
func NewDepositBookable(t testing.TB) *Bookable {
	t.Helper()
	b := NewPaidBookable(t)
	b.OK(200, "PUT", "/services/"+b.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	return b
}

// PayCharge pays a charge at the sandbox and runs the job that takes the payment in.
func (b *Bookable) PayCharge(txid any) {
	b.T.Helper()
	b.Guest().OK(200, "POST", "/dev/payments/"+txid.(string)+"/pay", nil)
	b.RunJob("payments")
}

// DepositTxID returns the transaction id of the newest charge for an appointment.
func (b *Bookable) DepositTxID(appointmentID any) (txid string) {
	b.T.Helper()
	require.NoError(b.T, b.Hub.Host.Pool.QueryRow(b.T.Context(), `select c.txid from scheduling.charges c join scheduling.payments p on p.id = c.payment_id
		where p.appointment_id = $1 order by c.created_at desc limit 1`, appointmentID).Scan(&txid))
	return txid
}

// TotalSpent returns what the client has spent.
func (b *Bookable) TotalSpent() any {
	b.T.Helper()
	return b.Get("/clients/" + b.ClientID)["total_spent"]
}

// LoyaltyAccount returns a client's points.
func (b *Bookable) LoyaltyAccount(clientID string) moduletest.Object {
	b.T.Helper()
	return b.Get("/loyalty/clients/" + clientID)
}
