package schedulingtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

// hostChanger is the service with a host that the test changed.
type hostChanger struct {
	module.Module
	change func(*module.Host)
}

// Open implements module.Module.
func (l hostChanger) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	l.change(&host)
	return l.Module.Open(ctx, host)
}

// NewBookableOn opens a studio whose host the test changed.
func NewBookableOn(t testing.TB, change func(*module.Host)) *Bookable {
	t.Helper()
	return RegisterOrganization(t, moduletest.Start(t, hostChanger{scheduling.New(), change}, moduletest.Options{Start: Monday.Add(-72 * time.Hour)})).MakeBookable()
}

// NewPaidBookable is a studio whose charges the sandbox collects.
func NewPaidBookable(t testing.TB) *Bookable {
	t.Helper()
	return NewBookable(t, "HUB_PAYMENT_PROVIDER=sandbox")
}

// PayCharge pays a charge as a person with a phone would, and waits for what follows.
func (p *Bookable) PayCharge(txid any) {
	p.T.Helper()
	p.Guest().OK(200, "POST", "/dev/payments/"+txid.(string)+"/pay", nil)
	p.RunJob("payments")
}

func (p *Bookable) TotalSpent() any {
	p.T.Helper()
	return p.OK(200, "GET", "/clients/"+p.ClientID, nil)["total_spent"]
}

func (p *Bookable) LoyaltyAccount(client string) object {
	p.T.Helper()
	return p.OK(200, "GET", "/loyalty/clients/"+client, nil)
}

// NewDepositBookable is a studio whose service needs a deposit of 20.
func NewDepositBookable(t testing.TB) *Bookable {
	t.Helper()
	p := NewPaidBookable(t)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	return p
}

// DepositTxID finds the charge of an appointment's deposit.
func (p *Bookable) DepositTxID(appointment any) (DepositTxID string) {
	p.T.Helper()
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), `select c.txid from scheduling.charges c join scheduling.payments p on p.id = c.payment_id
		where p.appointment_id = $1 order by c.created_at desc limit 1`, appointment).Scan(&DepositTxID))
	return DepositTxID
}
