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
func (s *Store) HoldSlot(ctx context.Context, n NewAppointment, last time.Duration) (Held, error) {
	var held Held
	err := s.InTx(ctx, "holding a time", func(tx *Tx) error {
		id, err := tx.claimRequestHold(ctx, n)
		if err != nil {
			return err
		}
		offers, err := LoadOffers(ctx, tx.Queries, n.Org.ID, n.Choice)
		if err != nil {
			return err
		}
		if n.ResolveClient != nil {
			if err := tx.checkClientMayBook(ctx, n); err != nil {
				return err
			}
		}
		held, err = tx.storeHold(ctx, id, n, offers, last)
		return err
	})
	if isSlotConflict(err) {
		err = s.slotTakenError(ctx, n.Org, n.Choice, n.Start, n.Limits, nil)
	}
	return held, err
}

// claimRequestHold gives the id of a request's hold. A request that counts once meets itself here,
// sent again: one of them goes on, the others hear [ErrRequestInProgress].
func (t *Tx) claimRequestHold(ctx context.Context, n NewAppointment) (hold uuid.UUID, err error) {
	var name string
	switch {
	case n.Idempotency != nil:
		name = n.Idempotency.Operation + " " + n.Idempotency.Key
	case n.SourceID != nil:
		name = "source " + *n.SourceID
	default:
		return uuid.New(), nil
	}
	hold = uuid.NewSHA1(n.Org.ID, []byte(name))
	if err := t.LockNames(ctx, []string{hold.String()}); err != nil {
		return hold, err
	}
	underWay, err := t.HoldLasts(ctx, dbgen.HoldLastsParams{OrgID: n.Org.ID, ID: hold, Now: t.now})
	if err == nil && !underWay {
		underWay, err = t.isAlreadyBooked(ctx, n)
	}
	switch {
	case err != nil:
		return hold, err
	case underWay:
		return hold, ErrRequestInProgress
	}
	return hold, t.DropHold(ctx, n.Org.ID, hold) // which ran out
}

// isAlreadyBooked tells whether a request that counts once has been booked: its hold ends
// in the same transaction.
func (t *Tx) isAlreadyBooked(ctx context.Context, n NewAppointment) (bool, error) {
	var err error
	var kept dbgen.Idempotency
	if n.Idempotency == nil {
		_, err = t.AppointmentBySource(ctx, n.Org.ID, n.SourceID)
	} else {
		kept, err = t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: n.Org.ID, Operation: n.Idempotency.Operation, Key: n.Idempotency.Key})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && (n.Idempotency == nil || kept.CreatedAt.After(t.now.Add(-idempotencyTTL))), err
}

var errRollback = errors.New("tried")

// checkClientMayBook finds out whether the client may book, and takes back what was written
// for that.
func (t *Tx) checkClientMayBook(ctx context.Context, n NewAppointment) error {
	err := t.withSavepoint(ctx, func(tx *Tx) error {
		if _, err := n.ResolveClient(ctx, tx); err != nil {
			return err
		}
		return errRollback
	})
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

func (t *Tx) storeHold(ctx context.Context, id uuid.UUID, n NewAppointment, offers []dbgen.OffersRow, last time.Duration) (Held, error) {
	offers, err := t.consumeHold(ctx, &n, offers)
	if err != nil {
		return Held{}, err
	}
	chosen, spot, err := t.choosePlacement(ctx, n, offers)
	if err != nil {
		return Held{}, err
	}
	held := Held{
		ID: id, Professional: chosen.ProfessionalID, Service: chosen.Service.Name, Start: n.Start, End: n.Start.Add(spot.offer.Duration),
		Price: spot.offer.Price, Deposit: spot.offer.DepositAmount, ExpiresAt: t.now.Add(last),
	}
	return held, t.CreateHold(ctx, dbgen.CreateHoldParams{
		OrgID: n.Org.ID, ID: held.ID, ProfessionalID: held.Professional, ServiceID: n.Service, StartAt: held.Start, EndAt: held.End,
		CreatedAt: t.now, ExpiresAt: held.ExpiresAt,
	})
}

// consumeHold ends the hold that a booking takes the place of; until the transaction
// commits it still keeps others out. Whose time was held is who gives the service
// now; one that was for something else ends all the same, one that ran out does nothing.
func (t *Tx) consumeHold(ctx context.Context, n *NewAppointment, offers []dbgen.OffersRow) ([]dbgen.OffersRow, error) {
	if n.HoldID == uuid.Nil {
		return offers, nil
	}
	held, err := t.TakeHold(ctx, dbgen.TakeHoldParams{OrgID: n.Org.ID, ID: n.HoldID, Now: t.now})
	if errors.Is(err, pgx.ErrNoRows) {
		n.HoldID = uuid.Nil
		return offers, nil
	}
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(offers, func(o dbgen.OffersRow) bool { return o.ProfessionalID == held.ProfessionalID })
	if at >= 0 && held.ServiceID == n.Service && held.StartAt.Equal(n.Start) {
		n.Professional, offers = &held.ProfessionalID, offers[at:at+1]
	}
	return offers, t.DropHold(ctx, n.Org.ID, n.HoldID)
}

// ReleaseHold lets go of a held time.
func (s *Store) ReleaseHold(ctx context.Context, org, hold uuid.UUID) error {
	return s.DropHold(ctx, org, hold)
}
