package contactlinks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A product that hangs delays the events of its own company only.
func TestHangingProductDelaysNoOther(t *testing.T) {
	t.Parallel()
	slow := messagingtest.NewCompanyAlone(t)
	clinic := slow.ConnectPeer("clinic")
	other := slow.AnotherCompany()
	answering := other.ConnectPeer("clinic")
	clinic.Hang("patients")
	slow.SendFromPhone(slow.AddPhone("Ana"), slow.Connect(), "Hi")
	require.Eventually(t, func() bool { return clinic.Hanging() == 1 }, time.Minute, 10*time.Millisecond)
	phone := other.AddPhone("Bruno")
	answering.Know("+" + phone)
	other.SendFromPhone(phone, other.Connect(), "Hi")
	require.Eventually(t, func() bool { return len(answering.Events("message.received")) == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, clinic.Hanging(), "the first call still waits")
}
