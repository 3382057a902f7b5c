package store

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/scheduling/internal/booking"
)

// busySQL selects the taken times of professionals within a range, oldest first.
const busySQL = `select a.professional_id, a.start_at, a.end_at, a.service_id, s.buffer_before_minutes, s.buffer_after_minutes
from scheduling.appointments a join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id
where a.org_id = $1 and a.professional_id = any($2::uuid[]) and a.start_at < $3::timestamptz
  and a.start_at > $4::timestamptz - interval '24 hours' and a.end_at > $4::timestamptz
  and a.status in ('scheduled', 'confirmed', 'completed') and a.id <> $5
union all
select h.professional_id, h.start_at, h.end_at, h.service_id, t.buffer_before_minutes, t.buffer_after_minutes
from scheduling.holds h join scheduling.services t on t.org_id = h.org_id and t.id = h.service_id
where h.org_id = $1 and h.professional_id = any($2::uuid[]) and h.start_at < $3::timestamptz
  and h.start_at > $4::timestamptz - interval '24 hours' and h.end_at > $4::timestamptz and h.expires_at > $6::timestamptz and h.id <> $5
order by 2`

// BusyQuery selects taken times. ExceptID is an appointment or hold to leave out;
// holds count until they expire.
type BusyQuery struct {
	Org           uuid.UUID
	Professionals []uuid.UUID
	Since, Until  time.Time
	ExceptID      uuid.UUID
	Now           time.Time
}

var errBusyFormat = errors.New("reading busy times: the rows do not have the expected format")

// EachBusy decodes taken times straight from the wire format. A month of a large
// organization has ten thousand rows, and scanning them value by value took most of
// the response time.
func (d DB) EachBusy(ctx context.Context, query BusyQuery, policy booking.Policy, yield func(professional uuid.UUID, busy booking.Busy)) error {
	rows, err := d.conn.Query(ctx, busySQL, query.Org, query.Professionals, query.Until, query.Since, query.ExceptID, query.Now)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, column := range rows.FieldDescriptions() {
		if column.Format != pgx.BinaryFormatCode {
			return errBusyFormat
		}
	}
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 6 || len(raw[0]) != 16 || len(raw[1]) != 8 || len(raw[2]) != 8 || len(raw[3]) != 16 {
			return errBusyFormat
		}
		yield(uuid.UUID(raw[0]), booking.Busy{
			Start: decodeTimestamp(raw[1]), End: decodeTimestamp(raw[2]), Service: uuid.UUID(raw[3]),
			BufferBefore: decodeBuffer(raw[4], policy.BufferBeforeMinutes), BufferAfter: decodeBuffer(raw[5], policy.BufferAfterMinutes),
		})
	}
	return rows.Err()
}

// decodeTimestamp decodes a timestamptz: microseconds since 2000.
func decodeTimestamp(raw []byte) time.Time {
	const epoch = 946684800
	return time.UnixMicro(int64(binary.BigEndian.Uint64(raw)) + epoch*1e6)
}

// decodeBuffer decodes minutes; null means the organization's default.
func decodeBuffer(raw []byte, otherwise int) time.Duration {
	if len(raw) == 4 {
		otherwise = int(int32(binary.BigEndian.Uint32(raw)))
	}
	return time.Duration(otherwise) * time.Minute
}
