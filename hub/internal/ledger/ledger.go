// Package ledger is the delivery log: what was accepted, every attempt to deliver
// it, and where each delivery stands. This package holds what its tables mean to all
// who use them: the columns of an attempt, latency classes, the scopes and widths of
// the statistics.
//
// Package write stores attempts, package query answers questions, package maintain
// maintains the log and sends deliveries again. Imports run one way: maintain may import
// query, all three import ledger, and ledger imports none of them. Package
// ledgertest holds what their tests share.
package ledger

// AttemptColumns are the columns that hold an attempt, both in hub.attempts and, for
// the first attempt of a delivery, in hub.deliveries. The delivery's id is named
// apart: it has another name in each table.
const AttemptColumns = `started_at, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, status_code, signature, response_headers, response_body`

// UnleasedSQL is true of the pending deliveries that no process has leased: those that wait
// for a retry, whose lease has ended, or that are behind others of their ordering key.
const UnleasedSQL = `(next_attempt_at is not null or due_at <= now() or due_at = 'infinity')`
