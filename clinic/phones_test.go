package clinic_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The database makes the key of a phone by the rule that searches use.
func TestPhoneKeyOfTheDatabase(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	key := p.key("patient.search")
	for _, number := range []string{
		"+5511987654321", "+551187654322", "+5511912345678", "+5511933334444", "+551133334445", "+12125551234", "+34987654321", "+5521960000000", "+552100000000",
	} {
		id := p.patient(number)
		got := key.get("/integrations/search/patients?phone=%2B" + number[1:])["patient"].(object)
		require.Equal(t, id, got["id"], number)
		require.Equal(t, number, got["phone"])
	}

	// One number, a family: the very number first, then who was there first; who was put away last.
	exact, short := p.patient("+5531987650000"), p.patient("+553187650000")
	second := p.patient("+5531987650000")
	find := func(phone string) any { return key.get("/integrations/search/patients?phone=" + phone)["patient"].(object)["id"] }
	require.Equal(t, exact, find("5531987650000"))
	require.Equal(t, short, find("553187650000"))
	p.ok(200, "PUT", "/patients/"+exact, object{"status": "inactive"})
	require.Equal(t, second, find("5531987650000"))
}
