package booking

import (
	"slices"
	"strings"
)

// Person is somebody as a product knows them. What is "" is not known.
type Person struct {
	Name   string // in the form of searches: lower case, without accents
	Email  string
	Shared bool // the product knows somebody else under the same phone number
}

func sameName(a, b string) bool {
	a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	return a != "" && a == b
}

// sameEmail reports whether two addresses are the same; none is like no other.
func sameEmail(a, b string) bool { return a != "" && strings.EqualFold(a, b) }

// Agrees reports whether a client has the person's name or e-mail address.
func (p Person) Agrees(client Person) bool {
	return sameName(p.Name, client.Name) || sameEmail(p.Email, client.Email)
}

// Contradicts reports whether a client has another name and another address, which is more
// than somebody who is called or written to in two ways.
func (p Person) Contradicts(client Person) bool {
	return !p.Agrees(client) && p.Name != "" && client.Name != "" && p.Email != "" && client.Email != ""
}

// Match finds the person among the clients under a phone number, by their places in
// the list. A single client is the person, unless somebody else is known under the
// number and nothing agrees. Among several, name and e-mail address decide; where they
// leave it open, or contradict each other, there is none.
func (p Person) Match(clients []Person) []int {
	if len(clients) == 1 {
		if p.Shared && !p.Agrees(clients[0]) {
			return nil
		}
		return []int{0}
	}
	var named, mailed, both []int
	for i, client := range clients {
		name, email := sameName(p.Name, client.Name), sameEmail(p.Email, client.Email)
		if name {
			named = append(named, i)
		}
		if email {
			mailed = append(mailed, i)
		}
		if name && email {
			both = append(both, i)
		}
	}
	switch {
	case len(both) > 0: // a namesake on the phone, or another with the address, is somebody else
		return both
	case len(named) == 0:
		return mailed
	case len(mailed) > 0 && slices.ContainsFunc(named, func(i int) bool { return clients[i].Email != "" }):
		return nil
	}
	address := ""
	for _, i := range named { // namesakes who can be told apart
		if email := clients[i].Email; email != "" && address != "" && !sameEmail(email, address) {
			return nil
		} else if email != "" {
			address = email
		}
	}
	return named
}
