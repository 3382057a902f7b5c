package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Held is a time that is kept for somebody for a while.
type Held struct {
	ID           uuid.UUID
	Professional uuid.UUID
	Service      string // name
	Start, End   time.Time
	Price        booking.Cents
	Deposit      booking.Cents // due with the booking; 0: none
	ExpiresAt    time.Time
}

// ErrRequestInProgress is the answer to a request that is being worked at already: it was sent
// twice. Whoever asks again a little later hears what came of it.
var ErrRequestInProgress = hub.Errorf(hub.ErrConflict, "request_under_way", "The same request is being worked at; ask again in a moment.")

// HoldSlot keeps an offered time, in place of the hold that n names. Where n has a client
// it is found out whether they may book. A request that counts once has one hold: while
// it lasts, or once it is booked, the answer is [ErrRequestInProgress]. Errors as [Store.Book]
// has them.
func (s *Store) HoldSlot(ctx context.Context, request NewAppointment, ttl time.Duration) (Held, error) {
	var held Held
	err := s.InTx(ctx, "holding a time", func(tx *Tx) error {
		id, err := tx.claimRequestHold(ctx, request)
		if err != nil {
			return err
		}
		offers, err := LoadOffers(ctx, tx.Queries, request.Org.ID, request.Choice)
		if err != nil {
			return err
		}
		if request.ResolveClient != nil {
			if err := tx.checkClientMayBook(ctx, request); err != nil {
				return err
			}
		}
		held, err = tx.storeHold(ctx, id, request, offers, ttl)
		return err
	})
	if isSlotConflict(err) {
		err = s.slotTakenError(ctx, request.Org, request.Choice, request.Start, request.Limits, nil)
	}
	return held, err
}

// claimRequestHold gives the id of a request's hold. A request that counts once meets itself here,
// sent again: one of them goes on, the others hear [ErrRequestInProgress].
func (t *Tx) claimRequestHold(ctx context.Context, request NewAppointment) (hold uuid.UUID, err error) {
	var name string
	switch {
	case request.Idempotency != nil:
		name = request.Idempotency.Operation + " " + request.Idempotency.Key
	case request.SourceID != nil:
		name = "source " + *request.SourceID
	default:
		return uuid.New(), nil
	}
	hold = uuid.NewSHA1(request.Org.ID, []byte(name))
	if err := t.LockNames(ctx, []string{hold.String()}); err != nil {
		return hold, err
	}
	underWay, err := t.HoldLasts(ctx, dbgen.HoldLastsParams{OrgID: request.Org.ID, ID: hold, Now: t.now})
	if err == nil && !underWay {
		underWay, err = t.isAlreadyBooked(ctx, request)
	}
	switch {
	case err != nil:
		return hold, err
	case underWay:
		return hold, ErrRequestInProgress
	}
	return hold, t.DropHold(ctx, request.Org.ID, hold) // which ran out
}

// isAlreadyBooked tells whether a request that counts once has been booked: its hold ends
// in the same transaction.
func (t *Tx) isAlreadyBooked(ctx context.Context, request NewAppointment) (bool, error) {
	var err error
	var stored dbgen.Idempotency
	if request.Idempotency == nil {
		_, err = t.AppointmentBySource(ctx, request.Org.ID, request.SourceID)
	} else {
		stored, err = t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: request.Org.ID, Operation: request.Idempotency.Operation, Key: request.Idempotency.Key})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && (request.Idempotency == nil || stored.CreatedAt.After(t.now.Add(-idempotencyTTL))), err
}

var errRollback = errors.New("tried")

// checkClientMayBook finds out whether the client may book, and takes back what was written
// for that.
func (t *Tx) checkClientMayBook(ctx context.Context, request NewAppointment) error {
	err := t.withSavepoint(ctx, func(tx *Tx) error {
		if _, err := request.ResolveClient(ctx, tx); err != nil {
			return err
		}
		return errRollback
	})
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

func (t *Tx) storeHold(ctx context.Context, id uuid.UUID, request NewAppointment, offers []dbgen.OffersRow, ttl time.Duration) (Held, error) {
	offers, err := t.consumeHold(ctx, &request, offers)
	if err != nil {
		return Held{}, err
	}
	chosen, placement, err := t.choosePlacement(ctx, request, offers)
	if err != nil {
		return Held{}, err
	}
	held := Held{
		ID: id, Professional: chosen.ProfessionalID, Service: chosen.Service.Name, Start: request.Start, End: request.Start.Add(placement.offer.Duration),
		Price: placement.offer.Price, Deposit: placement.offer.DepositAmount, ExpiresAt: t.now.Add(ttl),
	}
	return held, t.CreateHold(ctx, dbgen.CreateHoldParams{
		OrgID: request.Org.ID, ID: held.ID, ProfessionalID: held.Professional, ServiceID: request.Service, StartAt: held.Start, EndAt: held.End,
		CreatedAt: t.now, ExpiresAt: held.ExpiresAt,
	})
}

// consumeHold ends the hold that a booking takes the place of; until the transaction
// commits it still keeps others out. Whose time was held is who gives the service
// now; one that was for something else ends all the same, one that ran out does nothing.
func (t *Tx) consumeHold(ctx context.Context, request *NewAppointment, offers []dbgen.OffersRow) ([]dbgen.OffersRow, error) {
	if request.HoldID == uuid.Nil {
		return offers, nil
	}
	held, err := t.TakeHold(ctx, dbgen.TakeHoldParams{OrgID: request.Org.ID, ID: request.HoldID, Now: t.now})
	if errors.Is(err, pgx.ErrNoRows) {
		request.HoldID = uuid.Nil
		return offers, nil
	}
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(offers, func(offer dbgen.OffersRow) bool { return offer.ProfessionalID == held.ProfessionalID })
	if at >= 0 && held.ServiceID == request.Service && held.StartAt.Equal(request.Start) {
		request.Professional, offers = &held.ProfessionalID, offers[at:at+1]
	}
	return offers, t.DropHold(ctx, request.Org.ID, request.HoldID)
}

// ReleaseHold lets go of a held time.
func (s *Store) ReleaseHold(ctx context.Context, org, hold uuid.UUID) error {
	return s.DropHold(ctx, org, hold)
}
