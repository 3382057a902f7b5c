-- name: PendingDepositCharge :one
select * from scheduling.payment_details where org_id = @org_id and appointment_id = @appointment_id and kind = 'deposit'
and status = 'pending' and method = 'pix' order by created_at desc, id limit 1;

-- name: AppointmentsWithOverdueDeposit :many
-- Where the deposit may be paid until the start, staff decide: the visit takes place.
-- A charge that has expired and is still pending could not be read yet: it may be paid.
select a.org_id, a.id from scheduling.appointments a
where a.deposit_status = 'pending' and a.status = 'scheduled' and a.hold_until <= @now::timestamptz and a.hold_until < a.start_at
and not exists (select from scheduling.payments p join scheduling.charges c on c.org_id = p.org_id and c.payment_id = p.id
    where p.org_id = a.org_id and p.appointment_id = a.id and p.kind = 'deposit' and p.status = 'pending' and c.expires_at <= @now)
order by a.hold_until limit @row_limit::int;

-- name: SetDepositStatus :exec
update scheduling.appointments set deposit_status = @deposit_status, needs_refund = @needs_refund,
    version = version + 1, updated_at = @now where org_id = @org_id and id = @id;

-- name: PaidDeposits :many
select * from scheduling.payment_details where org_id = $1 and appointment_id = $2 and kind = 'deposit' and status = 'paid'
and provider is not null and refunded_cents = 0;
