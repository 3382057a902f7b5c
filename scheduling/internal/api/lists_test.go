package api_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestListsHaveTotalCount(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-30", "date_to": "2026-04-02", "exception_type": "block"})
	for path, total := range map[string]int{
		"/services": 1, "/professionals": 1, "/schedule-rules": 5, "/schedule-rules?professional_id=" + org.ProfessionalID: 5,
		"/schedule-exceptions?month=2026-03": 2, "/schedule-exceptions?month=2026-05": 0, "/appointments": 0,
	} {
		got := org.Call("GET", path, nil)
		require.Len(t, got.List, total, path)
		require.Equal(t, strconv.Itoa(total), got.Header.Get("X-Total-Count"), path)
	}
}
