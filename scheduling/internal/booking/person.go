package booking

import (
	"slices"
	"strings"
	"unicode"
)

// Person is what a product knows of a person. "" means unknown.
type Person struct {
	Name        string // in the form of searches: lower case, without accents
	Email       string
	SharedEmail bool // the product has another person with the same address
	Shared      bool // the product has another person with the contact by which clients were found
}

// HasName reports whether a name is the person's.
func (p Person) HasName(name string) bool { return sameName(p.Name, name) }

func sameName(a, b string) bool {
	a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	return a != "" && a == b
}

// sameEmail reports whether two addresses are the same. An empty one equals no other.
func sameEmail(a, b string) bool { return a != "" && strings.EqualFold(a, b) }

// MayFillIn reports whether a client's details may come from the person. Unlike [Person.Match],
// the phone alone does not suffice: relatives share one, and the e-mails of one would go to the
// other. The words of one name must contain those of the other. A client whose name is a phone
// number has no name to contradict, unless several people have that phone.
func (p Person) MayFillIn(client Person) bool {
	if !strings.ContainsFunc(client.Name, unicode.IsLetter) {
		return !p.Shared
	}
	person, stored := strings.Fields(p.Name), strings.Fields(client.Name)
	return len(person) > 0 && (containsAll(person, stored) || containsAll(stored, person))
}

func containsAll(words, part []string) bool {
	return !slices.ContainsFunc(part, func(word string) bool { return !slices.Contains(words, word) })
}

// Agrees reports whether a client has the name of the person or the e-mail address. An address
// that another person has too says nothing.
func (p Person) Agrees(client Person) bool {
	return p.HasName(client.Name) || !p.SharedEmail && sameEmail(p.Email, client.Email)
}

// Contradicts reports whether a client has both another name and another address. A
// single difference may be a second spelling or address of the same person.
func (p Person) Contradicts(client Person) bool {
	return !p.HasName(client.Name) && !sameEmail(p.Email, client.Email) && p.Name != "" && client.Name != "" && p.Email != "" && client.Email != ""
}

// Match returns the indices of the clients with a phone number or an e-mail address that
// are the person. A single client is the person, unless the product has another person
// with that contact and nothing agrees. Among several, name and e-mail address decide. If
// they are ambiguous or contradict each other, the result is empty.
func (p Person) Match(clients []Person) []int {
	if len(clients) == 1 {
		if p.Shared && !p.Agrees(clients[0]) {
			return nil
		}
		return []int{0}
	}
	var byName, byEmail, both []int
	for i, client := range clients {
		name, email := sameName(p.Name, client.Name), sameEmail(p.Email, client.Email)
		email = email && (name || !p.SharedEmail)
		if name {
			byName = append(byName, i)
		}
		if email {
			byEmail = append(byEmail, i)
		}
		if name && email {
			both = append(both, i)
		}
	}
	switch {
	case len(both) > 0: // others share only the name or only the address
		return both
	case len(byName) == 0:
		return byEmail
	case len(byEmail) > 0 && slices.ContainsFunc(byName, func(i int) bool { return clients[i].Email != "" }):
		return nil
	}
	address := ""
	for _, i := range byName { // namesakes with different addresses are different people
		if email := clients[i].Email; email != "" && address != "" && !sameEmail(email, address) {
			return nil
		} else if email != "" {
			address = email
		}
	}
	return byName
}
