-- name: InsertPayment :one
insert into clinic.payments (clinic_id, env, id, patient_id, appointment_id, amount, description, due_date, status, method, paid_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning *;

-- name: Payment :one
select * from clinic.payments where clinic_id = $1 and env = $2 and id = $3;

-- name: LockPayment :one
select * from clinic.payments where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: MarkPaymentPaid :one
update clinic.payments set status = 'paid', method = $4, paid_at = $5, updated_at = $6 where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: MarkPaymentCancelled :one
update clinic.payments set status = 'cancelled', updated_at = $4 where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: PaymentsPage :many
select * from clinic.payments where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by due_date desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountPayments :one
select count(*)::int from (select 1 from clinic.payments where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @max_count::int) n;

-- name: ClinicsWithDuePayments :many
-- Clinics with a payment that may be overdue in any time zone, without suspended ones.
select c.id, c.timezone from clinic.clinics c where c.id > @after::uuid and c.id <> all(@suspended::uuid[]) and exists (
    select from clinic.payments m where m.clinic_id = c.id and m.env in ('live', 'test') and m.status = 'pending' and m.overdue_notified_at is null
    and m.due_date < @before::date)
order by c.id limit @row_limit::int;

-- name: LockOverduePayments :many
-- A clinic's pending payments past their due date, without those that another run has locked.
select sqlc.embed(m), p.status as patient_status from clinic.payments m
join clinic.patients p on p.clinic_id = m.clinic_id and p.env = m.env and p.id = m.patient_id
where m.clinic_id = @clinic_id and m.env = any(@envs::text[]) and m.status = 'pending' and m.overdue_notified_at is null and m.due_date < @today::date
order by m.due_date, m.id limit @row_limit::int for share of p skip locked for update of m skip locked;

-- name: MarkPaymentOverdue :exec
update clinic.payments set status = 'overdue', overdue_notified_at = @now::timestamptz, updated_at = @now where clinic_id = @clinic_id and env = @env and id = @id;

-- name: PaymentsByStatus :many
-- The longest due first.
select sqlc.embed(m), p.name as patient_name from clinic.payments m
join clinic.patients p on p.clinic_id = m.clinic_id and p.env = m.env and p.id = m.patient_id
where m.clinic_id = @clinic_id and m.env = @env and m.status = @status
order by m.due_date, m.id limit @row_limit::int offset @row_offset::int;

-- name: CountPaymentsByStatus :one
select count(*)::int from (select 1 from clinic.payments m where m.clinic_id = @clinic_id and m.env = @env and m.status = @status limit @max_count::int) n;
