-- name: CreatePayment :one
insert into scheduling.payments (org_id, id, appointment_id, client_id, amount_cents, method, description, status, kind, paid_at, source_id, created_by, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning *;

-- name: AddPaid :exec
update scheduling.appointments set paid_cents = paid_cents + @amount::bigint, version = version + 1, updated_at = @now where org_id = @org_id and id = @id;

-- name: MonthPayments :many
select * from scheduling.payment_details p where p.org_id = @org_id
and coalesce(p.paid_at, p.created_at) >= @since::timestamptz and coalesce(p.paid_at, p.created_at) < @until::timestamptz
and (sqlc.narg('status')::text is null or p.status = sqlc.narg('status'))
and (sqlc.narg('client_id')::uuid is null or p.client_id = sqlc.narg('client_id'))
order by coalesce(p.paid_at, p.created_at) desc, p.id limit @row_limit::int offset @row_offset::int;

-- name: ClientPayments :many
select * from scheduling.payment_details p where p.org_id = @org_id and p.client_id = @client_id
order by coalesce(p.paid_at, p.created_at) desc, p.id limit @row_limit::int offset @row_offset::int;

-- name: CountClientPayments :one
select count(*)::int from scheduling.payments where org_id = $1 and client_id = $2;

-- name: AppointmentPayments :many
select * from scheduling.payment_details p where p.org_id = @org_id and p.appointment_id = @appointment_id
order by coalesce(p.paid_at, p.created_at) desc, p.id limit 500;

-- name: SumPayments :many
select p.method, p.status, sum(p.amount_cents)::bigint as amount, sum(p.refunded_cents)::bigint as refunded, count(*)::int as payments
from scheduling.payments p where p.org_id = @org_id
and coalesce(p.paid_at, p.created_at) >= @since::timestamptz and coalesce(p.paid_at, p.created_at) < @until::timestamptz
and (sqlc.narg('status')::text is null or p.status = sqlc.narg('status'))
and (sqlc.narg('client_id')::uuid is null or p.client_id = sqlc.narg('client_id'))
group by p.method, p.status order by p.method, p.status;

-- name: LoyaltyProgram :one
select * from scheduling.loyalty_programs where org_id = $1;

-- name: LockLoyaltyProgram :one
select * from scheduling.loyalty_programs where org_id = $1 for update;

-- name: UpdateLoyaltyProgram :exec
update scheduling.loyalty_programs set enabled = $2, program_name = $3, accrual_type = $4, points_per_hundred = $5, points_per_visit = $6,
    min_spend_cents = $7, rounding = $8, signup_bonus = $9, birthday_bonus = $10, points_expiration_days = $11, eligible_service_ids = $12,
    term_one = $13, term_other = $14, updated_at = $15 where org_id = $1;

-- name: Rewards :many
select * from scheduling.loyalty_rewards where org_id = $1 and deleted_at is null order by position, id;

-- name: PutReward :exec
insert into scheduling.loyalty_rewards (org_id, id, name, points, type, value, service_id, is_active, position)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (org_id, id) do update set name = excluded.name, points = excluded.points, type = excluded.type, value = excluded.value,
    service_id = excluded.service_id, is_active = excluded.is_active, position = excluded.position, deleted_at = null;

-- name: DropRewards :exec
update scheduling.loyalty_rewards set deleted_at = @now::timestamptz where org_id = @org_id and deleted_at is null and not (id = any(@kept::uuid[]));

-- name: Accrued :one
-- The points that visits of an appointment earned, less those that were taken back.
select coalesce(sum(points), 0)::bigint from scheduling.loyalty_entries
where org_id = $1 and appointment_id = $2 and type in ('earn', 'reverse') and source like 'visit:%';

-- name: HasEntry :one
select exists(select from scheduling.loyalty_entries where org_id = $1 and type = $2 and source = $3) as found;

-- name: AddEntry :one
insert into scheduling.loyalty_entries (org_id, id, client_id, type, points, balance_after, source, appointment_id, payment_id, reward_id, description, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning *;

-- name: Entries :many
select *, count(*) over () as total from scheduling.loyalty_entries where org_id = $1 and client_id = $2 order by id desc limit @row_limit::int offset @row_offset::int;

-- name: Ledger :many
select points, created_at from scheduling.loyalty_entries where org_id = $1 and client_id = $2 order by id;

-- name: Lifetime :one
select coalesce(sum(points) filter (where type in ('earn', 'bonus', 'reverse') or (type = 'adjust' and points > 0)), 0)::bigint as earned,
       coalesce(-sum(points) filter (where type = 'redeem'), 0)::bigint as redeemed
from scheduling.loyalty_entries where org_id = $1 and client_id = $2;

-- name: PaymentOfSource :one
select exists(select from scheduling.payments where org_id = $1 and source_id = $2) as found;
