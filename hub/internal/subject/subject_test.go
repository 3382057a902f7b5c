package subject_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/subject"
)

func TestTermsOfEvents(t *testing.T) {
	t.Parallel()
	scope := subject.Scope{TenantID: uuid.MustParse("019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11"), Environment: hub.Live}
	phone, ok := scope.Phone("+55 11 98765-4321")
	require.True(t, ok)
	for _, spelling := range []string{"+5511987654321", "(11) 98765-4321", "+551187654321", "0055 11 98765 4321"} {
		same, ok := scope.Phone(spelling)
		require.True(t, ok, spelling)
		require.Equal(t, phone, same, spelling)
		require.Equal(t, []int64{phone}, scope.Terms([]byte(`{"client_phone":"`+spelling+`"}`)), spelling)
	}
	_, ok = scope.Phone("tomorrow")
	require.False(t, ok)

	require.ElementsMatch(t, []int64{scope.ID("patient_id", "a"), scope.ID("ticket_id", "17"), phone},
		scope.Terms([]byte(`{"patient_id":"a","ticket_id":17,"phone":"+5511987654321","phones":["+551187654321",null],"name":"Ana"}`)))
	for _, data := range []string{``, `[]`, `{}`, `{"phone":null,"patient_id":{},"phones":"x"}`, `{"body":"+5511987654321"}`} {
		require.Empty(t, scope.Terms([]byte(data)), data)
	}

	// The bodies of messaging's plain webhooks have the number in an object.
	for _, data := range []string{`{"contact":{"id":3,"number":"5511987654321"}}`, `{"message":{},"ticket":{"id":1},"contact":{"number":"551187654321"}}`, `{"ticket":{"contact":{"number":"5511987654321"}}}`} {
		require.Equal(t, []int64{phone}, scope.Terms([]byte(data)), data)
	}
	abroad, _ := scope.Phone("+14155550123")
	require.Equal(t, []int64{abroad}, scope.Terms([]byte(`{"contact":{"number":"14155550123"}}`)))
	for _, data := range []string{`{"contact":"x"}`, `{"contact":{"number":""}}`, `{"contact":{"number":5}}`, `{"ticket":[]}`, `{"contact":{"number":"120363021234567890"}}`} {
		require.Empty(t, scope.Terms([]byte(data)), data)
	}

	// Other tenants, environments and members have other terms.
	for _, other := range []subject.Scope{{TenantID: uuid.Nil, Environment: hub.Live}, {TenantID: scope.TenantID, Environment: hub.Test}} {
		foreign, _ := other.Phone("+5511987654321")
		require.NotEqual(t, phone, foreign)
	}
	require.NotEqual(t, scope.ID("ticket_id", "1"), scope.ID("appointment_id", "1"))

	var phones []string
	for n := range 100 {
		phones = append(phones, fmt.Sprintf(`"+55119%08d"`, 10000000+n))
	}
	require.Len(t, scope.Terms([]byte(`{"phones":[`+strings.Join(phones, ",")+`]}`)), 32)
}

func TestArray(t *testing.T) {
	t.Parallel()
	require.Empty(t, subject.Array(nil))
	require.Equal(t, "{1,-2}", subject.Array([]int64{1, -2}))
}
