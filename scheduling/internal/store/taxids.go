package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/store/dbgen"
)

// cpfContext binds an encrypted tax id (CPF) to its client.
func cpfContext(client uuid.UUID) string { return "client/" + client.String() + "/cpf" }

// SealCPF encrypts a tax id of 11 digits into the client, with its search hashes. An
// empty string removes it.
func (s *Store) SealCPF(client *Client, digits string) {
	if client.CpfSealed, client.CpfHash, client.CpfParts = nil, nil, nil; digits == "" {
		return
	}
	client.CpfSealed, client.CpfHash, client.CpfParts = s.host.Sealer.Seal([]byte(digits), cpfContext(client.ID)), s.CPFHash(client.OrgID, digits), s.cpfPartHashes(client.OrgID, digits)
}

// OpenCPF decrypts a client's tax id; "" where there is none.
func (s *Store) OpenCPF(client *Client) (string, error) {
	if client.CpfSealed == nil {
		return "", nil
	}
	digits, err := s.host.Sealer.Open(client.CpfSealed, cpfContext(client.ID))
	if err != nil {
		return "", fmt.Errorf("opening a tax id: %w", err)
	}
	return string(digits), nil
}

// CPFHash returns the hash by which a complete tax id is found.
func (s *Store) CPFHash(org uuid.UUID, digits string) []byte { return s.cpfMAC(org, digits) }

func (s *Store) cpfMAC(org uuid.UUID, text string) []byte {
	mac := hmac.New(sha256.New, s.host.Sealer.Derive("cpf"))
	mac.Write(org[:])
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// CPFPartHashes returns the hashes by which a tax id is found from its first or last
// digits. Digits in the middle are not indexed: with the hashes of all pieces the
// digits could be recovered without the key.
func (s *Store) CPFPartHashes(org uuid.UUID, digits string) []int64 {
	return []int64{s.cpfPartHash(org, "first", digits), s.cpfPartHash(org, "last", digits)}
}

// ClientsByCPFEnd returns at most 100 clients of all organizations whose tax id ends with some
// digits, the newest first.
func (s *Store) ClientsByCPFEnd(ctx context.Context, digits string) ([]Client, error) {
	orgs, err := s.OrganizationIDs(ctx)
	if err != nil {
		return nil, err
	}
	parts := make([]int64, len(orgs))
	for i, org := range orgs {
		parts[i] = s.cpfPartHash(org, "last", digits)
	}
	return s.ClientsByCPFParts(ctx, parts)
}

func (s *Store) cpfPartHash(org uuid.UUID, end, digits string) int64 {
	return int64(binary.BigEndian.Uint64(s.cpfMAC(org, end+":"+digits)))
}

func (s *Store) cpfPartHashes(org uuid.UUID, digits string) []int64 {
	var parts []int64
	for n := 1; n < len(digits); n++ {
		parts = append(parts, s.cpfPartHash(org, "first", digits[:n]), s.cpfPartHash(org, "last", digits[n:]))
	}
	return parts
}

// cpfBatch is how many tax ids [Store.IndexCPFs] reads per query.
const cpfBatch = 500

// IndexCPFs computes the search hashes of tax ids that were stored without them.
func (s *Store) IndexCPFs(ctx context.Context) error {
	var failed []error
	for org, after := uuid.Nil, uuid.Nil; ; {
		rows, err := s.ClientsWithUnindexedCPF(ctx, dbgen.ClientsWithUnindexedCPFParams{AfterOrg: org, After: after, RowLimit: cpfBatch})
		if err != nil || len(rows) == 0 {
			return errors.Join(append(failed, err)...)
		}
		for i := range rows {
			client := &rows[i]
			digits, err := s.OpenCPF(client)
			if err != nil {
				failed = append(failed, fmt.Errorf("client %s: %w", client.ID, err))
				continue
			}
			err = s.SetCPFParts(ctx, dbgen.SetCPFPartsParams{Parts: s.cpfPartHashes(client.OrgID, digits), OrgID: client.OrgID, ID: client.ID, CpfHash: client.CpfHash})
			if err != nil {
				return err
			}
		}
		org, after = rows[len(rows)-1].OrgID, rows[len(rows)-1].ID
	}
}
