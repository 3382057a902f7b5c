-- name: CreateRefund :exec
insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at) values ($1, $2, $3, $4, $5, $5);

-- name: ClaimRefunds :many
update scheduling.refunds r set attempts = r.attempts + 1, provider_missing_since = null, due_at = sqlc.arg('now')::timestamptz + least(power(2, r.attempts), 120) * interval '1 minute'
from scheduling.payment_details p
where p.org_id = r.org_id and p.id = r.payment_id and (r.org_id, r.id) in (
    select d.org_id, d.id from scheduling.refunds d join scheduling.charges c on c.org_id = d.org_id and c.payment_id = d.payment_id
    where d.done_at is null and d.failed_at is null and d.due_at <= @now and c.provider = @provider
    order by d.due_at limit @row_limit::int for update of d skip locked)
returning r.org_id, r.id, r.payment_id, r.amount_cents, r.attempts, r.created_at, p.provider_payment_id, p.appointment_id,
    least(p.refunded_cents + r.amount_cents, p.amount_cents)::bigint as refunded_after;

-- name: RefundsOfOtherProviders :many
-- provider is the present one; '' for none.
select r.org_id, r.id, r.payment_id, r.provider_missing_since, p.appointment_id from scheduling.refunds r
join scheduling.payment_details p on p.org_id = r.org_id and p.id = r.payment_id
where r.done_at is null and r.failed_at is null and r.due_at <= @now and p.provider is distinct from @provider::text
order by r.due_at limit @row_limit::int;

-- name: PostponeRefund :exec
-- Returns an attempt that says nothing of the refund: no call was made, or it met an outage.
update scheduling.refunds set attempts = attempts - 1, due_at = @due_at where org_id = @org_id and id = @id;

-- name: SetRefundProviderMissing :exec
update scheduling.refunds set provider_missing_since = coalesce(provider_missing_since, @now::timestamptz), due_at = @due_at::timestamptz
where org_id = @org_id and id = @id;

-- name: SetRefundOutcome :exec
update scheduling.refunds set done_at = sqlc.narg('done_at'), failed_at = sqlc.narg('failed_at') where org_id = @org_id and id = @id;

-- name: SumRefunds :one
-- Of a payment: what its provider has refunded on request, what staff gave back, and whether a refund is under way.
select coalesce(sum(amount_cents) filter (where done_at is not null and not by_hand), 0)::bigint as by_provider,
    coalesce(sum(amount_cents) filter (where by_hand), 0)::bigint as by_hand,
    coalesce(bool_or(done_at is null and failed_at is null), false)::boolean as under_way
from scheduling.refunds where org_id = $1 and payment_id = $2;

-- name: CreateRefundByHand :exec
insert into scheduling.refunds (org_id, id, payment_id, amount_cents, created_at, due_at, done_at, by_hand, created_by)
values (@org_id, @id, @payment_id, @amount_cents, @now, @now, @now::timestamptz, true, @created_by);
