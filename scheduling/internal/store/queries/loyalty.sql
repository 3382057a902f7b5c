-- name: LoyaltyProgram :one
select * from scheduling.loyalty_programs where org_id = $1;

-- name: LockLoyaltyProgram :one
select * from scheduling.loyalty_programs where org_id = $1 for update;

-- name: CreateLoyaltyProgram :exec
insert into scheduling.loyalty_programs (org_id) values ($1);

-- name: UpdateLoyaltyProgram :exec
update scheduling.loyalty_programs set enabled = $2, program_name = $3, accrual_type = $4, points_per_hundred = $5, points_per_visit = $6,
    min_spend_cents = $7, rounding = $8, signup_bonus = $9, birthday_bonus = $10, points_expiration_days = $11, eligible_service_ids = $12,
    term_one = $13, term_other = $14, updated_at = $15 where org_id = $1;

-- name: OrgsWithExpiringPoints :many
select o.id from scheduling.loyalty_programs l join scheduling.organizations o on o.id = l.org_id
where l.enabled and l.points_expiration_days is not null order by o.id;

-- name: OrgsWithBirthdayBonus :many
select o.id from scheduling.loyalty_programs l join scheduling.organizations o on o.id = l.org_id
where l.enabled and l.birthday_bonus > 0 order by o.id;

-- name: ListRewards :many
select * from scheduling.loyalty_rewards where org_id = $1 and deleted_at is null order by position, id;

-- name: UpsertReward :exec
insert into scheduling.loyalty_rewards (org_id, id, name, points, type, value, service_id, is_active, position)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (org_id, id) do update set name = excluded.name, points = excluded.points, type = excluded.type, value = excluded.value,
    service_id = excluded.service_id, is_active = excluded.is_active, position = excluded.position, deleted_at = null;

-- name: DeleteRewardsExcept :exec
update scheduling.loyalty_rewards set deleted_at = @now::timestamptz where org_id = @org_id and deleted_at is null and not (id = any(@kept::uuid[]));

-- name: HasLoyaltyEntry :one
select exists(select from scheduling.loyalty_entries where org_id = $1 and type = $2 and source = $3) as found;

-- name: InsertLoyaltyEntry :one
insert into scheduling.loyalty_entries (org_id, id, client_id, type, points, balance_after, source, appointment_id, payment_id, reward_id, description, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning *;

-- name: ListLoyaltyEntries :many
select *, count(*) over () as total from scheduling.loyalty_entries where org_id = $1 and client_id = $2 order by id desc limit @row_limit::int offset @row_offset::int;

-- name: LoyaltyLedger :many
select points, created_at from scheduling.loyalty_entries where org_id = $1 and client_id = $2 order by id;

-- name: LifetimePoints :one
select coalesce(sum(points) filter (where type in ('earn', 'bonus', 'reverse') or (type = 'adjust' and points > 0)), 0)::bigint as earned,
       coalesce(-sum(points) filter (where type = 'redeem'), 0)::bigint as redeemed
from scheduling.loyalty_entries where org_id = $1 and client_id = $2;

-- name: EarnedVisitPoints :one
-- The points that visits of an appointment earned, less those that were taken back.
select coalesce(sum(points), 0)::bigint from scheduling.loyalty_entries
where org_id = $1 and appointment_id = $2 and type in ('earn', 'reverse') and source like 'visit:%';

-- name: PaymentPoints :one
select coalesce(sum(points) filter (where type = 'earn'), 0)::bigint as earned,
       coalesce(-sum(points) filter (where type = 'reverse'), 0)::bigint as reversed
from scheduling.loyalty_entries where org_id = $1 and payment_id = $2;

-- name: ClientsWithOldPoints :many
-- Clients who have not used up the points that were granted before a time. The oldest points are
-- used first.
select c.id from scheduling.clients c where c.org_id = @org_id and c.loyalty_points > 0 and c.anonymized_at is null and c.id > @after
and (select sum(e.points) filter (where e.points < 0 or e.created_at < @before::timestamptz) from scheduling.loyalty_entries e
    where e.org_id = c.org_id and e.client_id = c.id) > 0
order by c.id limit @row_limit::int;

-- name: ClientsWithBirthday :many
select c.id from scheduling.clients c where c.org_id = @org_id and c.id > @after and c.birth_date is not null and c.anonymized_at is null
and extract(month from c.birth_date) = @month::int and extract(day from c.birth_date) = any(@days::int[])
and not exists (select from scheduling.loyalty_entries e where e.org_id = c.org_id and e.type = 'bonus'
    and e.source = 'birthday:' || c.id::text || ':' || @year::text)
order by c.id limit @row_limit::int;
