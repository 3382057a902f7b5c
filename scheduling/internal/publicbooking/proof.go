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

// challengeTTL is how long a challenge can be solved: as long as a form may lie open.
const challengeTTL = time.Hour

// challengeKey signs an organization's challenges.
func (d *Desk) challengeKey(org store.Org) []byte {
	return d.host.Sealer.Derive("proof of work " + org.ID.String())
}

// NewChallenge is work for a client's machine, for one booking with the organization.
func (d *Desk) NewChallenge(org store.Org) proofofwork.Challenge {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // it never fails
	number := int(binary.BigEndian.Uint64(random[16:]) % (proofofwork.MaxNumber + 1))
	return proofofwork.New(d.challengeKey(org), random[:16], number, d.host.Now().Add(challengeTTL))
}

// verifyProof checks the proof of work that comes with a booking, where one is wanted.
func (d *Desk) verifyProof(org store.Org, answer string) (proofofwork.Solved, error) {
	if !org.Settings.ProofOfWork {
		return proofofwork.Solved{}, nil
	}
	return proofofwork.Verify(d.challengeKey(org), answer, d.host.Now())
}

// spendProof takes a proof of work, once.
func spendProof(ctx context.Context, tx *store.Tx, org store.Org, solved proofofwork.Solved) error {
	if !org.Settings.ProofOfWork {
		return nil
	}
	n, err := tx.SpendProof(ctx, dbgen.SpendProofParams{OrgID: org.ID, Challenge: solved.Challenge, ExpiresAt: solved.Expires})
	if err == nil && n == 0 {
		return proofofwork.RequiredError()
	}
	return err
}
