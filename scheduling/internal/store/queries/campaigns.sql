-- name: CountReachableClients :one
-- Those whom a campaign would write to now.
select count(*)::int from scheduling.clients c
where c.org_id = @org_id and c.anonymized_at is null and c.marketing_consent_at is not null and not c.is_blocked
and (c.email is not null or @by_message::bool and c.phone_e164 is not null)
and (c.last_campaign_at is null or c.last_campaign_at <= @since::timestamptz)
and not exists (select from scheduling.campaign_letters l where l.client_id = c.id and l.period @> @now::timestamptz)
and scheduling.inactive_since(c.org_id, c.id, c.created_at, @now) < @before::timestamptz;

-- name: CreateCampaign :exec
insert into scheduling.campaigns (org_id, id, message, days, created_by, created_at) values ($1, $2, $3, $4, $5, $6);

-- name: InsertCampaignMessages :execrows
-- Whoever is in another campaign of the period is left out, also where it is being made.
insert into scheduling.campaign_letters (org_id, campaign_id, client_id, period)
select c.org_id, @campaign_id, c.id, tstzrange(@now::timestamptz, @until::timestamptz) from scheduling.clients c
where c.org_id = @org_id and c.anonymized_at is null and c.marketing_consent_at is not null and not c.is_blocked
and (c.email is not null or @by_message::bool and c.phone_e164 is not null)
and (c.last_campaign_at is null or c.last_campaign_at <= @since::timestamptz)
and scheduling.inactive_since(c.org_id, c.id, c.created_at, @now) < @before::timestamptz
order by c.id on conflict do nothing;

-- name: SetCampaignRecipients :exec
update scheduling.campaigns set recipients = @recipients where org_id = @org_id and id = @id;

-- name: CampaignByID :one
select * from scheduling.campaigns where org_id = $1 and id = $2;

-- name: ListCampaigns :many
select sqlc.embed(c), (select count(*)::int from scheduling.campaign_letters l where l.org_id = c.org_id and l.campaign_id = c.id and l.sent_at is not null) as sent
from scheduling.campaigns c where c.org_id = @org_id order by c.id desc limit @row_limit::int offset @row_offset::int;

-- name: CountCampaigns :one
select count(*)::int from scheduling.campaigns where org_id = $1;

-- name: SetCampaignDoneAt :exec
update scheduling.campaigns set done_at = @now::timestamptz where org_id = @org_id and id = @id and done_at is null;

-- name: PendingCampaignMessages :many
select client_id from scheduling.campaign_letters where org_id = @org_id and campaign_id = @campaign_id and sent_at is null and client_id > @after::uuid
order by client_id limit @row_limit::int;

-- name: LockCampaignMessage :one
select * from scheduling.campaign_letters where org_id = @org_id and campaign_id = @campaign_id and client_id = @client_id and sent_at is null for no key update;

-- name: IsStillReachable :one
select exists (select from scheduling.clients c where c.org_id = @org_id and c.id = @id and c.anonymized_at is null and c.marketing_consent_at is not null
    and not c.is_blocked and scheduling.inactive_since(c.org_id, c.id, c.created_at, @now::timestamptz) < @before::timestamptz) as found;

-- name: SetCampaignMessageClaim :exec
update scheduling.campaign_letters set claimed_at = sqlc.narg('claimed_at') where org_id = @org_id and campaign_id = @campaign_id and client_id = @client_id;

-- name: SetCampaignMessageSentAt :exec
with letter as (
    update scheduling.campaign_letters l set sent_at = @now::timestamptz, period = tstzrange(@now, greatest(@until::timestamptz, upper(l.period)))
    where l.org_id = @org_id and l.campaign_id = @campaign_id and l.client_id = @client_id
) update scheduling.clients c set last_campaign_at = @now where c.org_id = @org_id and c.id = @client_id;

-- name: DeleteCampaignMessage :exec
delete from scheduling.campaign_letters where org_id = $1 and campaign_id = $2 and client_id = $3 and sent_at is null;
