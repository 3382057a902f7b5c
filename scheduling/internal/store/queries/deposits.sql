-- name: PendingDepositCharge :one
select * from scheduling.payment_details where org_id = @org_id and appointment_id = @appointment_id and kind = 'deposit'
and status = 'pending' and method = 'pix' order by created_at desc, id limit 1;

-- name: AppointmentsWithOverdueDeposit :many
-- Where the deposit may be paid until the start, or the visit has begun, staff decide.
-- A code that was closed here or has expired, but is not final at the provider, may be paid.
select a.org_id, a.id from scheduling.appointments a
where a.deposit_status = 'pending' and a.status = 'scheduled' and a.hold_until <= @now::timestamptz and a.hold_until < a.start_at and a.start_at > @now and not a.deposit_left_to_staff
and not exists (select from scheduling.payments p join scheduling.charges c on c.org_id = p.org_id and c.payment_id = p.id
    where p.org_id = a.org_id and p.appointment_id = a.id and c.due_at is not null and c.unpaid_at is null
    and (p.kind = 'deposit' or p.kind <> 'other' and p.amount_cents >= a.deposit_cents - a.paid_cents)
    and (c.expires_at <= @now or p.status <> 'pending'))
order by a.hold_until limit @row_limit::int;

-- name: SetDepositStatus :exec
update scheduling.appointments set deposit_status = @deposit_status, version = version + 1, updated_at = @now where org_id = @org_id and id = @id;

-- name: UpdateNeedsRefund :exec
-- Money is owed to the client that no refund under way returns: a refund failed; more than the price was paid; or money of a cancelled appointment is not forfeited.
-- Kind 'other' is beside the price. After a cancellation it counts where its code was older,
-- and what staff received by hand after it does not count: it may be a fee.
with money as (
    select p.id, p.kind, p.amount_cents, p.refunded_cents, p.amount_cents - p.refunded_cents as kept, p.paid_at, p.source_id, c.created_at as charged_at,
        coalesce((select sum(r.amount_cents) from scheduling.refunds r where r.org_id = p.org_id and r.payment_id = p.id
            and r.done_at is null and r.failed_at is null), 0) as under_way,
        coalesce((select sum(r.amount_cents) from scheduling.refunds r where r.org_id = p.org_id and r.payment_id = p.id
            and not r.by_hand and (r.done_at is not null or r.failed_at is not null)), 0) as requested,
        exists (select from scheduling.refunds r where r.org_id = p.org_id and r.payment_id = p.id and r.done_at is null
            and r.failed_at is not null) as stuck
    from scheduling.payments p left join scheduling.charges c on c.org_id = p.org_id and c.payment_id = p.id
    where p.org_id = @org_id and p.appointment_id = @id::uuid and p.paid_at is not null
), owed as (
    select a.org_id, a.id, (
        exists (select from money m where m.stuck and m.refunded_cents < least(m.requested, m.amount_cents))
        or case when a.status = 'cancelled' then (
            select coalesce(sum(m.kept - least(m.under_way, m.kept)), 0) from money m
            where case when m.kind = 'other' then m.charged_at <= a.cancelled_at and m.paid_at >= a.cancelled_at
                       else m.charged_at is not null or m.source_id is not null or m.paid_at <= a.cancelled_at end
        ) > case when a.deposit_status = 'forfeited' then coalesce(a.deposit_cents, 0) else 0 end
        else (select coalesce(sum(m.kept - least(m.under_way, m.kept)), 0) from money m where m.kind <> 'other') > a.price_cents end
    ) as needs_refund
    from scheduling.appointments a where a.org_id = @org_id and a.id = @id
)
update scheduling.appointments a set needs_refund = owed.needs_refund, version = a.version + 1, updated_at = @now
from owed where a.org_id = owed.org_id and a.id = owed.id and a.needs_refund <> owed.needs_refund;

-- name: PaidDeposits :many
select * from scheduling.payment_details where org_id = $1 and appointment_id = $2 and kind = 'deposit' and status = 'paid'
and provider is not null and refunded_cents = 0;
