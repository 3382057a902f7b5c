-- name: PaymentByID :one
select * from scheduling.payment_details where org_id = $1 and id = $2;

-- name: LockPayment :one
select * from scheduling.payments where org_id = $1 and id = $2 for no key update;

-- name: CreatePayment :one
insert into scheduling.payments (org_id, id, appointment_id, client_id, amount_cents, method, description, status, kind, paid_at, source_id, created_by, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning *;

-- name: UpdatePaymentStatus :exec
update scheduling.payments set status = @status, paid_at = sqlc.narg('paid_at'), refunded_cents = @refunded_cents, updated_at = @now
where org_id = @org_id and id = @id;

-- name: EndUnpaidPayment :exec
-- One that was settled meanwhile stays as it is.
update scheduling.payments set status = @status, updated_at = @now where org_id = @org_id and id = @id and status = 'pending';

-- name: ReassignPendingPayments :exec
-- What is to be paid for an appointment is its client's to pay.
update scheduling.payments set client_id = @client_id, updated_at = @now
where org_id = @org_id and appointment_id = @appointment_id and status = 'pending';

-- name: ListPayments :many
select * from scheduling.payment_details p where p.org_id = @org_id
and coalesce(p.paid_at, p.created_at) >= @since::timestamptz and coalesce(p.paid_at, p.created_at) < @until::timestamptz
and (sqlc.narg('status')::text is null or p.status = sqlc.narg('status'))
and (sqlc.narg('client_id')::uuid is null or p.client_id = sqlc.narg('client_id'))
order by coalesce(p.paid_at, p.created_at) desc, p.id limit @row_limit::int offset @row_offset::int;

-- name: ListClientPayments :many
select * from scheduling.payment_details p where p.org_id = @org_id and p.client_id = @client_id
order by coalesce(p.paid_at, p.created_at) desc, p.id limit @row_limit::int offset @row_offset::int;

-- name: CountClientPayments :one
select count(*)::int from scheduling.payments where org_id = $1 and client_id = $2;

-- name: ListAppointmentPayments :many
select * from scheduling.payment_details p where p.org_id = @org_id and p.appointment_id = @appointment_id
order by coalesce(p.paid_at, p.created_at) desc, p.id limit 500;

-- name: SumPayments :many
select p.method, p.status, sum(p.amount_cents)::bigint as amount, sum(p.refunded_cents)::bigint as refunded, count(*)::int as payments
from scheduling.payments p where p.org_id = @org_id
and coalesce(p.paid_at, p.created_at) >= @since::timestamptz and coalesce(p.paid_at, p.created_at) < @until::timestamptz
and (sqlc.narg('status')::text is null or p.status = sqlc.narg('status'))
and (sqlc.narg('client_id')::uuid is null or p.client_id = sqlc.narg('client_id'))
group by p.method, p.status order by p.method, p.status;

-- name: PaymentSourceExists :one
select exists(select from scheduling.payments where org_id = $1 and source_id = $2) as found;
