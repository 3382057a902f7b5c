package booking_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/booking"
)

func TestContradiction(t *testing.T) {
	t.Parallel()
	ana := booking.Person{Name: "ana souza", Email: "ana@example.com"}
	require.True(t, ana.Contradicts(booking.Person{Name: "rui souza", Email: "rui@example.com"}))
	for _, client := range []booking.Person{
		{}, {Name: "rui souza"}, {Email: "rui@example.com"},
		{Name: "ana souza", Email: "rui@example.com"}, {Name: "rui souza", Email: "Ana@example.com"},
	} {
		require.False(t, ana.Contradicts(client), "%v", client)
	}
	ana.SharedEmail = true
	require.False(t, ana.Contradicts(booking.Person{Name: "rui souza", Email: "ana@example.com"}), "a shared address is the same address")
}

// A person is matched to one of several clients who share a phone.
func TestMatchPerson(t *testing.T) {
	t.Parallel()
	type people = []booking.Person
	ana, rui := booking.Person{Name: "ana souza", Email: "ana@example.com"}, booking.Person{Name: "rui souza", Email: "rui@example.com"}
	bia := booking.Person{Name: "bia  souza"}
	for _, test := range []struct {
		description string
		who         booking.Person
		clients     people
		want        []int
	}{
		{"nobody", ana, nil, nil},
		{"a single client", booking.Person{}, people{rui}, []int{0}},
		{"a single client who is called otherwise", ana, people{rui}, []int{0}},
		{"a single client of a shared number", booking.Person{Name: "ana souza", Shared: true}, people{rui}, nil},
		{"a single client of a shared number, by the name", booking.Person{Name: "rui souza", Shared: true}, people{rui}, []int{0}},
		{"a single client of a shared number, by the address", booking.Person{Email: "RUI@example.com", Shared: true}, people{rui}, []int{0}},
		{"a single client of a shared number, by a shared address", booking.Person{Email: "rui@example.com", Shared: true, SharedEmail: true}, people{rui}, nil},
		{"a shared address", booking.Person{Name: "bia souza", Email: "ana@example.com", SharedEmail: true}, people{ana, rui}, nil},
		{"a shared address, by the name", booking.Person{Name: "ana souza", Email: "ana@example.com", SharedEmail: true}, people{ana, {Name: "bia souza", Email: "ana@example.com"}}, []int{0}},
		{"no details", booking.Person{}, people{ana, rui}, nil},
		{"the address", booking.Person{Email: "Ana@Example.com"}, people{rui, ana}, []int{1}},
		{"the name", booking.Person{Name: "bia souza"}, people{ana, bia}, []int{1}},
		{"an address that nobody has", booking.Person{Email: "x@example.com"}, people{ana, bia}, nil},
		{"the name of a child, the address of the mother", booking.Person{Name: "bia souza", Email: "ana@example.com"}, people{ana, bia}, []int{1}},
		{"a name and an address of different people", booking.Person{Name: "ana souza", Email: "rui@example.com"}, people{ana, rui}, nil},
		{"father and son", booking.Person{Name: "ana souza", Email: "ana@example.com"}, people{{Name: "ana souza", Email: "son@example.com"}, ana}, []int{1}},
		{"namesakes with different addresses", booking.Person{Name: "ana souza"}, people{{Name: "ana souza", Email: "son@example.com"}, ana}, nil},
		{"one person twice", booking.Person{Name: "ana souza"}, people{{Name: "ana souza"}, rui, ana}, []int{0, 2}},
	} {
		require.Equal(t, test.want, test.who.Match(test.clients), test.description)
	}
}

// Details of a person go to a client with the same name, written longer or shorter.
func TestMayFillIn(t *testing.T) {
	t.Parallel()
	ana := booking.Person{Name: "ana lima souza"}
	for _, name := range []string{"ana lima souza", "ana", "ana  souza", "souza ana lima", "ana de lima souza", "+55 11 95555-6666", ""} {
		require.True(t, ana.MayFillIn(booking.Person{Name: name}), name)
	}
	for _, name := range []string{"pedro lima", "an", "maria souza"} {
		require.False(t, ana.MayFillIn(booking.Person{Name: name}), name)
	}
	require.False(t, booking.Person{}.MayFillIn(ana), "without a name")
	ana.Shared = true
	require.True(t, ana.MayFillIn(booking.Person{Name: "ana lima"}))
	require.False(t, ana.MayFillIn(booking.Person{Name: "11 95555-6666"}), "any of those with the number")
}
