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

// ErrUnderWay is the answer to a request that is being worked at already: it was sent
// twice. Whoever asks again a little later hears what came of it.
var ErrUnderWay = hub.Errorf(hub.ErrConflict, "request_under_way", "The same request is being worked at; ask again in a moment.")

// Hold keeps an offered time, in place of the hold that n names. Where n has a client
// it is found out whether they may book. A request that counts once has one hold: while
// it lasts, or once it is booked, the answer is [ErrUnderWay]. Errors as [Store.Book]
// has them.
func (s *Store) Hold(ctx context.Context, n NewAppointment, last time.Duration) (Held, error) {
	var held Held
	err := s.InTx(ctx, "holding a time", func(tx *Tx) error {
		id, err := tx.meet(ctx, n)
		if err != nil {
			return err
		}
		offers, err := OffersOf(ctx, tx.Queries, n.Org.ID, n.Choice)
		if err != nil {
			return err
		}
		if n.Client != nil {
			if err := tx.tryClient(ctx, n); err != nil {
				return err
			}
		}
		held, err = tx.hold(ctx, id, n, offers, last)
		return err
	})
	if taken(err) {
		err = s.slotTaken(ctx, n.Org, n.Choice, n.Start, n.Limits, nil)
	}
	return held, err
}

// meet gives the id of a request's hold. A request that counts once meets itself here,
// sent again: one of them goes on, the others hear [ErrUnderWay].
func (t *Tx) meet(ctx context.Context, n NewAppointment) (hold uuid.UUID, err error) {
	var name string
	switch {
	case n.Once != nil:
		name = n.Once.Operation + " " + n.Once.Key
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
		underWay, err = t.bookedSince(ctx, n)
	}
	switch {
	case err != nil:
		return hold, err
	case underWay:
		return hold, ErrUnderWay
	}
	return hold, t.DropHold(ctx, n.Org.ID, hold) // which ran out
}

// bookedSince tells whether a request that counts once has been booked: its hold ends
// in the same transaction.
func (t *Tx) bookedSince(ctx context.Context, n NewAppointment) (bool, error) {
	var err error
	var kept dbgen.Idempotency
	if n.Once == nil {
		_, err = t.AppointmentBySource(ctx, n.Org.ID, n.SourceID)
	} else {
		kept, err = t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: n.Org.ID, Operation: n.Once.Operation, Key: n.Once.Key})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && (n.Once == nil || kept.CreatedAt.After(t.now.Add(-idempotencyTime))), err
}

var errTried = errors.New("tried")

// tryClient finds out whether the client may book, and takes back what was written
// for that.
func (t *Tx) tryClient(ctx context.Context, n NewAppointment) error {
	err := t.within(ctx, func(tx *Tx) error {
		if _, err := n.Client(ctx, tx); err != nil {
			return err
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

func (t *Tx) hold(ctx context.Context, id uuid.UUID, n NewAppointment, offers []dbgen.OffersRow, last time.Duration) (Held, error) {
	offers, err := t.claimHold(ctx, &n, offers)
	if err != nil {
		return Held{}, err
	}
	chosen, spot, err := t.choose(ctx, n, offers)
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

// claimHold ends the hold that a booking takes the place of; until the transaction
// commits it still keeps others out. Whose time was held is who gives the service
// now; one that was for something else ends all the same, one that ran out does nothing.
func (t *Tx) claimHold(ctx context.Context, n *NewAppointment, offers []dbgen.OffersRow) ([]dbgen.OffersRow, error) {
	if n.Hold == uuid.Nil {
		return offers, nil
	}
	held, err := t.TakeHold(ctx, dbgen.TakeHoldParams{OrgID: n.Org.ID, ID: n.Hold, Now: t.now})
	if errors.Is(err, pgx.ErrNoRows) {
		n.Hold = uuid.Nil
		return offers, nil
	}
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(offers, func(o dbgen.OffersRow) bool { return o.ProfessionalID == held.ProfessionalID })
	if at >= 0 && held.ServiceID == n.Service && held.StartAt.Equal(n.Start) {
		n.Professional, offers = &held.ProfessionalID, offers[at:at+1]
	}
	return offers, t.DropHold(ctx, n.Org.ID, n.Hold)
}

// Release lets go of a held time.
func (s *Store) Release(ctx context.Context, org, hold uuid.UUID) error {
	return s.DropHold(ctx, org, hold)
}
