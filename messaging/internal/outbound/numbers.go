package outbound

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store"
)

// Networks register a Brazilian mobile number with its ninth digit or without, and accept it in
// that form only.

// recipient is how a network reaches a contact: by a number, or by a LID.
type recipient struct {
	number string // in the form that the network accepts
	lid    string // only without a number
}

// resolveRecipient returns how the network of a connection reaches a contact. It asks the network
// for the form of a number once, and stores that with the contact. It returns
// [driver.ErrNotRegistered] for a contact that the network cannot reach.
func (s *Service) resolveRecipient(ctx context.Context, network driver.Driver, connection driver.Connection, contact store.Contact) (recipient, error) {
	capabilities := network.Capabilities()
	switch {
	case contact.Number == "" && (contact.LID == nil || !capabilities.LIDs):
		return recipient{}, driver.ErrNotRegistered
	case contact.Number == "":
		return recipient{lid: *contact.LID}, nil
	case contact.NetworkNumber != nil:
		return recipient{number: *contact.NetworkNumber}, nil
	case !needsNumberCheck(network, contact): // it is refused, if it has to be, when it is sent
		return recipient{number: contact.Number}, nil
	}
	number, err := registeredNumber(ctx, network, connection, contact.Number)
	if err != nil {
		return recipient{}, err
	}
	if err := s.store.SetNetworkNumber(ctx, contact.CompanyID, contact.ID, &number); err != nil {
		return recipient{}, fmt.Errorf("storing a contact's number at the network: %w", err)
	}
	return recipient{number: number}, nil
}

// needsNumberCheck reports whether a network has to be asked for the form of a contact's number.
func needsNumberCheck(network driver.Driver, contact store.Contact) bool {
	return contact.Number != "" && contact.NetworkNumber == nil && network.Capabilities().NumberCheck && len(chat.NumberVariants(contact.Number)) > 1
}

// registeredNumber returns the form of a number that is registered at the network: the given one,
// else another one of the same phone. It returns [driver.ErrNotRegistered] if none is.
func registeredNumber(ctx context.Context, network driver.Driver, connection driver.Connection, number string) (string, error) {
	isRegistered, err := network.Check(ctx, connection, number)
	if err != nil || isRegistered {
		return number, err
	}
	for _, variant := range chat.NumberVariants(number) {
		if variant == number {
			continue
		}
		if isRegistered, err := network.Check(ctx, connection, variant); err != nil || isRegistered {
			return variant, err
		}
	}
	return "", driver.ErrNotRegistered
}
