package publicbooking

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"integrationhub/scheduling/internal/proofofwork"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// proofTime is how long a challenge can be solved: as long as a form may lie open.
const proofTime = time.Hour

// proofKey signs an organization's challenges.
func (d *Desk) proofKey(o store.Org) []byte {
	return d.host.Sealer.Derive("proof of work " + o.ID.String())
}

// Challenge is work for a client's machine, for one booking with the organization.
func (d *Desk) Challenge(o store.Org) proofofwork.Challenge {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // it never fails
	number := int(binary.BigEndian.Uint64(random[16:]) % (proofofwork.Most + 1))
	return proofofwork.New(d.proofKey(o), random[:16], number, d.host.Now().Add(proofTime))
}

// proven checks the proof of work that comes with a booking, where one is wanted.
func (d *Desk) proven(o store.Org, answer string) (proofofwork.Solved, error) {
	if !o.Settings.ProofOfWork {
		return proofofwork.Solved{}, nil
	}
	return proofofwork.Check(d.proofKey(o), answer, d.host.Now())
}

// spend takes a proof of work, once.
func spend(ctx context.Context, tx *store.Tx, o store.Org, solved proofofwork.Solved) error {
	if !o.Settings.ProofOfWork {
		return nil
	}
	n, err := tx.SpendProof(ctx, dbgen.SpendProofParams{OrgID: o.ID, Challenge: solved.Challenge, ExpiresAt: solved.Expires})
	if err == nil && n == 0 {
		return proofofwork.Wanting()
	}
	return err
}
