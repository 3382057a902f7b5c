package sessions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// A network that does not answer a check holds up no check that becomes due meanwhile.
func TestHangingCheckDelaysNoOther(t *testing.T) {
	t.Parallel()
	company, hanging, other := messagingtest.NewCompanyAlone(t), drivertest.NewBridge(t), drivertest.NewBridge(t)
	add := func(name string, b *drivertest.Bridge) (becomeUnreachable func()) {
		connection := company.OK(201, "POST", "/whatsapp", object{"name": name, "driver": "bridge", "bridge": object{"url": b.URL, "secret": drivertest.BridgeSecret}})
		return func() {
			company.Hub.Exec(fmt.Sprintf(`update messaging.connections set status = 'TIMEOUT', retries = 0, updated_at = now() - interval '1 hour' where id = %d`, messagingtest.ID(connection)))
		}
	}
	first, second := add("First", hanging), add("Second", other)
	hanging.SetHanging("start", "state")
	first()
	require.Eventually(t, func() bool { return hanging.Hanging() > 0 }, time.Minute, time.Millisecond)
	calls := len(other.Calls())
	second()
	require.Eventually(t, func() bool { return len(other.Calls()) > calls || hanging.Hanging() == 0 }, time.Minute, time.Millisecond)
	require.Greater(t, len(other.Calls()), calls, "it is checked while the first does not answer")
}
