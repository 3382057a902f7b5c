-- name: PaymentByID :one
select * from scheduling.payment_details where org_id = $1 and id = $2;

-- name: LockPayment :one
select * from scheduling.payments where org_id = $1 and id = $2 for no key update;

-- name: OpenCharge :one
select * from scheduling.payment_details where org_id = @org_id and appointment_id = @appointment_id and kind = @kind
and amount_cents = @amount_cents and status = 'pending' and method = 'pix';

-- name: OpenDeposit :one
select * from scheduling.payment_details where org_id = @org_id and appointment_id = @appointment_id and kind = 'deposit'
and status = 'pending' and method = 'pix' order by created_at desc, id limit 1;

-- name: CreateCharge :exec
insert into scheduling.charges (org_id, payment_id, provider, provider_payment_id, txid, pix_copy_paste, qr_code_url, expires_at, due_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9);

-- name: ChargeAtProvider :one
select c.org_id, c.payment_id, p.appointment_id, p.amount_cents from scheduling.charges c
join scheduling.payments p on p.org_id = c.org_id and p.id = c.payment_id
where c.provider = $1 and c.provider_payment_id = $2;

-- name: SettlePayment :exec
update scheduling.payments set status = @status, paid_at = sqlc.narg('paid_at'), refunded_cents = @refunded_cents, updated_at = @now
where org_id = @org_id and id = @id;

-- name: PutOffCharge :exec
update scheduling.charges set due_at = sqlc.narg('due_at') where org_id = @org_id and payment_id = @payment_id;

-- name: DueCharges :many
select c.org_id, c.payment_id, c.provider, c.provider_payment_id, c.expires_at, p.status
from scheduling.charges c join scheduling.payments p on p.org_id = c.org_id and p.id = c.payment_id
where c.due_at <= @now::timestamptz order by c.due_at limit @row_limit::int;

-- name: DueHolds :many
select a.org_id, a.id from scheduling.appointments a
where a.deposit_status = 'pending' and a.status = 'scheduled' and a.hold_until <= @now::timestamptz
and not exists (select from scheduling.payments p join scheduling.charges c on c.org_id = p.org_id and c.payment_id = p.id
    where p.org_id = a.org_id and p.appointment_id = a.id and p.kind = 'deposit' and p.status = 'pending' and c.due_at <= @now)
order by a.hold_until limit @row_limit::int;

-- name: SetDeposit :exec
update scheduling.appointments set deposit_status = @deposit_status, needs_refund = @needs_refund,
    version = version + 1, updated_at = @now where org_id = @org_id and id = @id;

-- name: Rebook :exec
update scheduling.appointments set status = @status, deposit_status = 'paid', seat = @seat, capacity = @capacity, overbooked = false,
    cancelled_at = null, cancelled_by = null, cancel_reason = null,
    confirmed_at = case when @status = 'confirmed' then coalesce(confirmed_at, @now::timestamptz) else confirmed_at end,
    ics_sequence = ics_sequence + 1, version = version + 1, updated_at = @now where org_id = @org_id and id = @id;

-- name: AddNotice :execrows
insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at) values ($1, $2, $3, $4, $5, $5)
on conflict do nothing;

-- name: ClaimNotices :many
update scheduling.provider_events e set attempts = e.attempts + 1, due_at = sqlc.arg('now')::timestamptz + least(e.attempts + 1, 60) * interval '1 minute'
where (e.provider, e.event_id) in (
    select d.provider, d.event_id from scheduling.provider_events d where d.processed_at is null and d.due_at <= @now and d.provider = @provider
    order by d.due_at limit @row_limit::int for update skip locked)
returning e.event_id, e.charge_id, e.attempts;

-- name: FinishNotice :exec
update scheduling.provider_events set processed_at = @now::timestamptz where provider = @provider and event_id = @event_id;

-- name: PaidDeposits :many
select * from scheduling.payment_details where org_id = $1 and appointment_id = $2 and kind = 'deposit' and status = 'paid'
and provider is not null and refunded_cents = 0;

-- name: CreateRefund :exec
insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at) values ($1, $2, $3, $4, $5, $5);

-- name: ClaimRefunds :many
update scheduling.refunds r set attempts = r.attempts + 1, due_at = sqlc.arg('now')::timestamptz + least(power(2, r.attempts), 120) * interval '1 minute'
from scheduling.payment_details p
where p.org_id = r.org_id and p.id = r.payment_id and p.provider = @provider and (r.org_id, r.id) in (
    select d.org_id, d.id from scheduling.refunds d where d.done_at is null and d.failed_at is null and d.due_at <= @now
    order by d.due_at limit @row_limit::int for update skip locked)
returning r.org_id, r.id, r.payment_id, r.amount_cents, r.attempts, p.provider_payment_id, p.appointment_id;

-- name: FinishRefund :exec
update scheduling.refunds set done_at = sqlc.narg('done_at'), failed_at = sqlc.narg('failed_at') where org_id = @org_id and id = @id;

-- name: RefundsDone :one
select coalesce(sum(amount_cents), 0)::bigint as amount from scheduling.refunds where org_id = $1 and payment_id = $2 and done_at is not null;

-- name: TakeHold :one
select * from scheduling.holds where org_id = @org_id and id = @id and expires_at > @now::timestamptz for update;

-- name: CreateHold :exec
insert into scheduling.holds (org_id, id, professional_id, service_id, start_at, end_at, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: HoldLasts :one
select exists (select from scheduling.holds where org_id = @org_id and id = @id and expires_at > @now::timestamptz);

-- name: DropHold :exec
delete from scheduling.holds where org_id = $1 and id = $2;

-- name: CloseCharges :exec
with closed as (
    update scheduling.payments p set status = @status, updated_at = sqlc.arg('now')::timestamptz
    where p.org_id = @org_id and p.appointment_id = @appointment_id and p.status = 'pending' and p.method = 'pix'
    and (sqlc.narg('more_than')::bigint is null or p.kind <> 'other' and p.amount_cents > sqlc.narg('more_than')) returning p.id
) update scheduling.charges c set due_at = sqlc.arg('now') from closed where c.org_id = @org_id and c.payment_id = closed.id;

-- name: GiveCharges :exec
-- What is to be paid for an appointment is its client's to pay.
update scheduling.payments set client_id = @client_id, updated_at = @now
where org_id = @org_id and appointment_id = @appointment_id and status = 'pending';

-- name: PaymentPoints :one
select coalesce(sum(points) filter (where type = 'earn'), 0)::bigint as earned,
       coalesce(-sum(points) filter (where type = 'reverse'), 0)::bigint as reversed
from scheduling.loyalty_entries where org_id = $1 and payment_id = $2;
