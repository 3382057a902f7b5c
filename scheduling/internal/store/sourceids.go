package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/store/dbgen"
)

// erasedSourcePrefix begins a source_id that an erasure replaced. It has no colon, which every
// other source_id has behind the name of the product.
const erasedSourcePrefix = "erased-"

// erasedSourceID returns the keyed hash that replaces a source_id in the data of an erased
// client: a connected product may make its ids of a phone number or a name.
func (t *Tx) erasedSourceID(org uuid.UUID, sourceID string) string {
	mac := hmac.New(sha256.New, t.Host.Sealer.Derive("source ids"))
	mac.Write(org[:])
	mac.Write([]byte(sourceID))
	return erasedSourcePrefix + hex.EncodeToString(mac.Sum(nil))
}

// appointmentBySourceID finds the appointment that a connected product booked with an id of its
// own. It finds it after an erasure too: a late repeat of the request would otherwise bring the
// erased client back.
func (t *Tx) appointmentBySourceID(ctx context.Context, org uuid.UUID, sourceID string) (AppointmentDetail, error) {
	return t.AppointmentBySource(ctx, org, []string{sourceID, t.erasedSourceID(org, sourceID)})
}

// eraseSourceIDs replaces the source_ids of a client's appointments.
func (t *Tx) eraseSourceIDs(ctx context.Context, org, client uuid.UUID) error {
	rows, err := t.SourceIDsOfClient(ctx, org, client)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if strings.HasPrefix(row.SourceID, erasedSourcePrefix) { // by an erasure before
			continue
		}
		err := t.SetSourceID(ctx, dbgen.SetSourceIDParams{SourceID: t.erasedSourceID(org, row.SourceID), OrgID: org, ID: row.ID})
		if err != nil {
			return err
		}
	}
	return nil
}
