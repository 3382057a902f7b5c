package store

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// HeldSlot is a time reserved for a client until it expires.
type HeldSlot struct {
	ID           uuid.UUID
	Professional uuid.UUID
	Service      string // name
	Start, End   time.Time
	Price        booking.Cents
	Deposit      booking.Cents // due with the booking; 0: none
	ExpiresAt    time.Time
}

// ErrRequestInProgress is returned to a repeated request while the first one is still
// running. Repeating it later returns the first one's answer.
var ErrRequestInProgress = hub.Errorf(hub.ErrConflict, "request_under_way", "The same request is being worked at; ask again in a moment.")

// HoldTerms are the terms of a hold.
type HoldTerms struct {
	TTL         time.Duration
	AddressHash []byte                                  // of the client's network address, whose live holds are limited; nil: no limit
	Check       func(ctx context.Context, tx *Tx) error // may refuse the hold, in its transaction; nil: no further check
}

// MaxHoldsPerAddress is how many live holds a network address, or an IPv6 network, has with an
// organization. A client needs one; clients may share an address, as those of a website that calls
// the API for them.
const MaxHoldsPerAddress = 10

// HoldSlot reserves an offered time, replacing the hold the request names. If the
// request admits a client, it also checks that they may book. A request with an
// idempotency key has one hold; while it lasts, or once it is booked, the error is
// [ErrRequestInProgress]. Other errors are those of [Store.Book].
func (s *Store) HoldSlot(ctx context.Context, request NewAppointment, terms HoldTerms) (HeldSlot, error) {
	var held HeldSlot
	err := s.InTx(ctx, "holding a time", func(tx *Tx) error {
		id, err := tx.claimRequestHold(ctx, request)
		if err != nil {
			return err
		}
		if terms.Check != nil {
			if err := terms.Check(ctx, tx); err != nil {
				return err
			}
		}
		if err := tx.checkHoldsOfAddress(ctx, request, terms.AddressHash); err != nil {
			return err
		}
		offers, err := LoadOffers(ctx, tx.DB, request.Org.ID, request.ServiceChoice)
		if err != nil {
			return err
		}
		if request.AdmitClient != nil {
			if err := tx.dryRunAdmitClient(ctx, request); err != nil {
				return err
			}
		}
		held, err = tx.storeHold(ctx, id, request, offers, terms)
		return err
	})
	if isSlotConflict(err) {
		err = s.slotTakenError(ctx, request.Org, request.ServiceChoice, request.Start, request.Limits, nil)
	}
	return held, err
}

// checkHoldsOfAddress refuses a hold of an address that has too many. The hold that the request
// replaces does not count.
func (t *Tx) checkHoldsOfAddress(ctx context.Context, request NewAppointment, addressHash []byte) error {
	if addressHash == nil {
		return nil
	}
	if err := t.LockAdvisoryKeys(ctx, []string{"holds " + request.Org.ID.String() + " " + hex.EncodeToString(addressHash)}); err != nil {
		return err
	}
	live, err := t.CountHoldsOfAddress(ctx, dbgen.CountHoldsOfAddressParams{OrgID: request.Org.ID, AddressHash: addressHash, Now: t.now, ExceptID: request.HoldID})
	if err == nil && live >= MaxHoldsPerAddress {
		return hub.Errorf(hub.ErrConflict, "too_many_holds", "Your network address holds %d times already. Book one of them, send the hold_id of one to replace it, or wait until one expires.", live)
	}
	return err
}

// claimRequestHold returns the id of the request's hold. For a request with an
// idempotency key the id is derived from the key, so a concurrent repetition gets
// [ErrRequestInProgress].
func (t *Tx) claimRequestHold(ctx context.Context, request NewAppointment) (hold uuid.UUID, err error) {
	hold = request.holdID()
	if request.Idempotency == nil && request.SourceID == nil {
		return hold, nil
	}
	if err := t.LockAdvisoryKeys(ctx, []string{hold.String()}); err != nil {
		return hold, err
	}
	underWay, err := t.IsHoldActive(ctx, dbgen.IsHoldActiveParams{OrgID: request.Org.ID, ID: hold, Now: t.now})
	if err == nil && !underWay {
		underWay, err = t.isAlreadyBooked(ctx, request)
	}
	switch {
	case err != nil:
		return hold, err
	case underWay:
		return hold, ErrRequestInProgress
	}
	return hold, t.DeleteHold(ctx, request.Org.ID, hold) // an expired one
}

// holdID returns the id of the request's hold: the same one for every repetition with the
// same idempotency key, else a random one.
func (n NewAppointment) holdID() uuid.UUID {
	switch {
	case n.Idempotency != nil:
		return uuid.NewSHA1(n.Org.ID, []byte(n.Idempotency.Operation+" "+n.Idempotency.Key))
	case n.SourceID != nil:
		return uuid.NewSHA1(n.Org.ID, []byte("source "+*n.SourceID))
	default:
		return uuid.New()
	}
}

// isAlreadyBooked reports whether a request with an idempotency key has been booked.
func (t *Tx) isAlreadyBooked(ctx context.Context, request NewAppointment) (bool, error) {
	var err error
	var stored dbgen.Idempotency
	if request.Idempotency == nil {
		_, err = t.appointmentBySourceID(ctx, request.Org.ID, *request.SourceID)
	} else {
		stored, err = t.findKey(ctx, request.Org.ID, *request.Idempotency)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && (request.Idempotency == nil || stored.CreatedAt.After(t.now.Add(-idempotencyTTL))), err
}

var errRollback = errors.New("rolled back on purpose")

// dryRunAdmitClient admits the client in a savepoint that is rolled back.
func (t *Tx) dryRunAdmitClient(ctx context.Context, request NewAppointment) error {
	err := t.withSavepoint(ctx, func(tx *Tx) error {
		if _, err := request.AdmitClient(ctx, tx); err != nil {
			return err
		}
		return errRollback
	})
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

func (t *Tx) storeHold(ctx context.Context, id uuid.UUID, request NewAppointment, offers []ServiceOffer, terms HoldTerms) (HeldSlot, error) {
	offers, err := t.consumeHold(ctx, &request, offers)
	if err != nil {
		return HeldSlot{}, err
	}
	chosen, placement, err := t.choosePlacement(ctx, request, offers)
	if err != nil {
		return HeldSlot{}, err
	}
	held := HeldSlot{
		ID: id, Professional: chosen.ProfessionalID, Service: chosen.Service.Name, Start: request.Start, End: request.Start.Add(placement.offer.Duration),
		Price: placement.offer.Price, Deposit: placement.offer.DepositAmount, ExpiresAt: t.now.Add(terms.TTL),
	}
	return held, t.CreateHold(ctx, dbgen.CreateHoldParams{
		OrgID: request.Org.ID, ID: held.ID, ProfessionalID: held.Professional, ServiceID: request.Service, StartAt: held.Start, EndAt: held.End,
		CreatedAt: t.now, ExpiresAt: held.ExpiresAt, AddressHash: terms.AddressHash,
	})
}

// consumeHold deletes the hold that a booking replaces; it still blocks others until
// the transaction commits. A hold for this very time narrows the offers to its
// professional. An expired hold has no effect.
func (t *Tx) consumeHold(ctx context.Context, request *NewAppointment, offers []ServiceOffer) ([]ServiceOffer, error) {
	if request.HoldID == uuid.Nil {
		return offers, nil
	}
	held, err := t.LockHold(ctx, dbgen.LockHoldParams{OrgID: request.Org.ID, ID: request.HoldID, Now: t.now})
	if errors.Is(err, pgx.ErrNoRows) {
		request.HoldID = uuid.Nil
		return offers, nil
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(offers, func(offer ServiceOffer) bool { return offer.ProfessionalID == held.ProfessionalID })
	if i >= 0 && held.ServiceID == request.Service && held.StartAt.Equal(request.Start) {
		request.Professional, offers = &held.ProfessionalID, offers[i:i+1]
	}
	return offers, t.DeleteHold(ctx, request.Org.ID, request.HoldID)
}

// ReleaseHold deletes a hold.
func (s *Store) ReleaseHold(ctx context.Context, org, hold uuid.UUID) error {
	return s.DeleteHold(ctx, org, hold)
}
