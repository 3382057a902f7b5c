-- name: PendingCharge :one
select * from scheduling.payment_details where org_id = @org_id and appointment_id = @appointment_id and kind = @kind
and amount_cents = @amount_cents and status = 'pending' and method = 'pix';

-- name: CreateCharge :exec
insert into scheduling.charges (org_id, payment_id, provider, provider_payment_id, txid, pix_copy_paste, qr_code_url, expires_at, due_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9);

-- name: ChargeByProviderID :one
select c.org_id, c.payment_id, p.appointment_id, p.amount_cents from scheduling.charges c
join scheduling.payments p on p.org_id = c.org_id and p.id = c.payment_id
where c.provider = $1 and c.provider_payment_id = $2;

-- name: DueCharges :many
select c.org_id, c.payment_id, c.provider, c.provider_payment_id, c.expires_at, c.unread_since, c.failed_reads, c.unpaid_at
from scheduling.charges c
where c.due_at <= @now::timestamptz order by c.due_at limit @row_limit::int;

-- name: SetChargeCheckAt :exec
update scheduling.charges set due_at = sqlc.narg('due_at') where org_id = @org_id and payment_id = @payment_id;

-- name: PostponeUnreadCharge :exec
-- Counts a failed read.
update scheduling.charges set due_at = @due_at::timestamptz, unread_since = coalesce(unread_since, @now::timestamptz), failed_reads = failed_reads + 1
where org_id = @org_id and payment_id = @payment_id;

-- name: ClearFailedReads :exec
update scheduling.charges set unread_since = null, failed_reads = 0 where org_id = @org_id and payment_id = @payment_id;

-- name: SetChargeUnpaid :exec
update scheduling.charges set unpaid_at = coalesce(unpaid_at, @now::timestamptz), due_at = sqlc.narg('due_at') where org_id = @org_id and payment_id = @payment_id;

-- name: CloseCharges :exec
with closed as (
    update scheduling.payments p set status = @status, updated_at = sqlc.arg('now')::timestamptz
    where p.org_id = @org_id and p.appointment_id = @appointment_id and p.status = 'pending' and p.method = 'pix'
    and (sqlc.narg('more_than')::bigint is null or p.kind <> 'other' and p.amount_cents > sqlc.narg('more_than')) returning p.id, p.kind
), left_to_staff as ( -- a deposit that can no longer be paid by its code
    update scheduling.appointments a set hold_until = greatest(a.hold_until, a.start_at), deposit_left_to_staff = true
    where a.org_id = @org_id and a.id = @appointment_id and a.deposit_status = 'pending' and sqlc.narg('more_than')::bigint is not null
    and exists (select from closed where kind = 'deposit')
) update scheduling.charges c set due_at = sqlc.arg('now') from closed where c.org_id = @org_id and c.payment_id = closed.id;
