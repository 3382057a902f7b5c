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

// challengeTTL is how long a challenge can be solved: as long as a form may stay open.
const challengeTTL = time.Hour

// challengeKey returns the key that signs an organization's challenges.
func (s *Service) challengeKey(org store.Org) []byte {
	return s.host.Sealer.Derive("proof of work " + org.ID.String())
}

// NewChallenge returns a proof-of-work challenge for one booking, hold or waitlist entry.
func (s *Service) NewChallenge(org store.Org) proofofwork.Challenge {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // it never fails
	number := int(binary.BigEndian.Uint64(random[16:]) % (proofofwork.MaxNumber + 1))
	return proofofwork.New(s.challengeKey(org), random[:16], number, s.host.Now().Add(challengeTTL))
}

// verifyProof checks a request's proof of work, where the organization requires one.
func (s *Service) verifyProof(org store.Org, answer string) (proofofwork.Solved, error) {
	if !org.Settings.ProofOfWork {
		return proofofwork.Solved{}, nil
	}
	return proofofwork.Verify(s.challengeKey(org), answer, s.host.Now())
}

// spendProof marks a proof of work as used. A used one is rejected.
func spendProof(ctx context.Context, tx *store.Tx, org store.Org, solved proofofwork.Solved) error {
	if !org.Settings.ProofOfWork {
		return nil
	}
	n, err := tx.InsertSpentProof(ctx, dbgen.InsertSpentProofParams{OrgID: org.ID, Challenge: solved.Challenge, ExpiresAt: solved.Expires})
	if err == nil && n == 0 {
		return proofofwork.RequiredError()
	}
	return err
}
