-- name: InsertCampaign :one
insert into messaging.campaigns (company_id, name, status, messages, confirmation, confirmation_messages, media_id, scheduled_at, connection_id,
  contact_list_id, tag_ids, message_interval, longer_interval_after, greater_interval, send_window, template, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17) returning *;

-- name: InsertCampaignProgress :exec
insert into messaging.campaign_progress (company_id, campaign_id) values ($1, $2);

-- name: Campaign :one
select sqlc.embed(c), sqlc.embed(p), f.name as media_name from messaging.campaigns c join messaging.campaign_progress p on p.company_id = c.company_id and p.campaign_id = c.id
left join messaging.media_files f on f.company_id = c.company_id and f.id = c.media_id
where c.company_id = $1 and c.id = $2;

-- name: CampaignsByID :many
select sqlc.embed(c), sqlc.embed(p), f.name as media_name from messaging.campaigns c join messaging.campaign_progress p on p.company_id = c.company_id and p.campaign_id = c.id
left join messaging.media_files f on f.company_id = c.company_id and f.id = c.media_id
where c.company_id = $1 and c.id = any(sqlc.arg(ids)::bigint[]);

-- name: LockCampaign :one
select * from messaging.campaigns where company_id = $1 and id = $2 for no key update;

-- name: CampaignCount :one
select count(*) from messaging.campaigns where company_id = sqlc.arg(company_id) and (sqlc.arg(status)::text = '' or status = sqlc.arg(status)::text)
  and strpos(messaging.search_form(name), messaging.search_form(sqlc.arg(search)::text)) > 0;

-- name: CampaignsPage :many
select sqlc.embed(c), sqlc.embed(p), f.name as media_name from messaging.campaigns c join messaging.campaign_progress p on p.company_id = c.company_id and p.campaign_id = c.id
left join messaging.media_files f on f.company_id = c.company_id and f.id = c.media_id
where c.company_id = sqlc.arg(company_id) and (sqlc.arg(status)::text = '' or c.status = sqlc.arg(status)::text)
  and strpos(messaging.search_form(c.name), messaging.search_form(sqlc.arg(search)::text)) > 0
order by c.id desc offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: UpdateCampaign :exec
update messaging.campaigns set name = $3, status = $4, messages = $5, confirmation = $6, confirmation_messages = $7, media_id = $8, scheduled_at = $9,
  started_at = $10, completed_at = $11, connection_id = $12, contact_list_id = $13, tag_ids = $14, message_interval = $15, longer_interval_after = $16,
  greater_interval = $17, send_window = $18, template = $19, updated_at = $20
where company_id = $1 and id = $2;

-- name: DeleteCampaign :exec
delete from messaging.campaigns where company_id = $1 and id = $2;

-- name: CountTags :one
select count(*) from messaging.tags where company_id = $1 and id = any(sqlc.arg(ids)::bigint[]);

-- name: DeleteShipments :exec
delete from messaging.campaign_shipments where company_id = $1 and campaign_id = $2;

-- name: InsertShipments :execrows
-- Of given contacts. Contacts of other companies are left out: the caller compares the number.
insert into messaging.campaign_shipments (company_id, campaign_id, contact_id, created_at, updated_at)
select c.company_id, sqlc.arg(campaign_id), c.id, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz from messaging.contacts c
where c.company_id = sqlc.arg(company_id) and c.id = any(sqlc.arg(contacts)::bigint[]) order by c.id
on conflict (company_id, campaign_id, contact_id) do nothing;

-- name: InsertShipmentsOfList :exec
insert into messaging.campaign_shipments (company_id, campaign_id, contact_id, created_at, updated_at)
select i.company_id, sqlc.arg(campaign_id), i.contact_id, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz from messaging.contact_list_items i
where i.company_id = sqlc.arg(company_id) and i.list_id = sqlc.arg(list_id) order by i.contact_id
on conflict (company_id, campaign_id, contact_id) do nothing;

-- name: InsertShipmentsOfTags :exec
insert into messaging.campaign_shipments (company_id, campaign_id, contact_id, created_at, updated_at)
select distinct t.company_id, sqlc.arg(campaign_id)::bigint, t.contact_id, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz from messaging.contact_tags t
where t.company_id = sqlc.arg(company_id) and t.tag_id = any(sqlc.arg(tags)::bigint[]) order by t.contact_id
on conflict (company_id, campaign_id, contact_id) do nothing;

-- name: DueCampaigns :many
-- Of each company the running campaign whose next message has been due for the longest time.
select d.company_id, d.campaign_id from (
  select distinct on (p.company_id) p.company_id, p.campaign_id, p.next_send_at from messaging.campaign_progress p join messaging.campaigns c on c.company_id = p.company_id and c.id = p.campaign_id
  where p.next_send_at <= sqlc.arg(at)::timestamptz and c.status = 'running' and not p.company_id = any(sqlc.arg(excluded_companies)::bigint[]) and not p.campaign_id = any(sqlc.arg(excluded)::bigint[])
  order by p.company_id, p.next_send_at) d
order by d.next_send_at limit sqlc.arg(max_rows)::int;

-- name: LockDueCampaign :one
-- No row if another process has locked it, or it is not due any more.
select p.* from messaging.campaign_progress p join messaging.campaigns c on c.company_id = p.company_id and c.id = p.campaign_id
where p.company_id = sqlc.arg(company_id) and p.campaign_id = sqlc.arg(campaign_id) and p.next_send_at <= sqlc.arg(at)::timestamptz and c.status = 'running'
for no key update of p, c skip locked;

-- name: DueScheduledCampaign :one
select * from messaging.campaigns where status = 'scheduled' and scheduled_at <= sqlc.arg(at)::timestamptz and not id = any(sqlc.arg(excluded)::bigint[])
order by scheduled_at limit 1 for no key update skip locked;

-- name: SetCampaignProgress :exec
update messaging.campaign_progress set dispatched = $3, next_send_at = $4 where company_id = $1 and campaign_id = $2;

-- name: LockCampaignProgress :one
select * from messaging.campaign_progress where company_id = $1 and campaign_id = $2 for no key update;

-- name: MakeCampaignDue :exec
-- A running campaign has something to send.
update messaging.campaign_progress p set next_send_at = least(p.next_send_at, sqlc.arg(at)::timestamptz) where p.company_id = sqlc.arg(company_id) and p.campaign_id = sqlc.arg(campaign_id) and p.next_send_at is not null;

-- name: NextShipments :many
-- Confirmed ones first: their contacts have just answered.
select * from messaging.campaign_shipments where company_id = sqlc.arg(company_id) and campaign_id = sqlc.arg(campaign_id) and status in ('pending', 'confirmed')
order by status = 'pending', seq limit sqlc.arg(max_rows)::int for no key update skip locked;

-- name: UpdateShipment :exec
update messaging.campaign_shipments set number = $4, message = $5, status = $6, confirmation_id = $7, message_id = $8, error = $9, updated_at = $10
where company_id = $1 and campaign_id = $2 and contact_id = $3;

-- name: SettleShipment :exec
update messaging.campaign_shipments set status = sqlc.arg(status)::text, error = sqlc.narg(error), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and message_id = sqlc.arg(message_id)::text and status <> sqlc.arg(status)::text;

-- name: FailConfirmation :exec
update messaging.campaign_shipments set status = 'failed', error = sqlc.narg(error), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and confirmation_id = sqlc.arg(confirmation_id)::text and status = 'confirming';

-- name: CampaignQuestions :many
-- Confirmations that a contact was asked for on a connection and has not answered, the newest first.
select s.campaign_id, m.id as message_id from messaging.campaign_shipments s
join messaging.messages m on m.company_id = s.company_id and m.id = s.confirmation_id
where s.company_id = sqlc.arg(company_id) and s.contact_id = sqlc.arg(contact_id) and s.status = 'confirming' and m.connection_id = sqlc.arg(connection_id)::bigint
order by m.seq desc;

-- name: AnswerConfirmation :exec
update messaging.campaign_shipments set status = sqlc.arg(status)::text, error = sqlc.narg(error), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and campaign_id = sqlc.arg(campaign_id) and contact_id = sqlc.arg(contact_id) and status = 'confirming';

-- name: ExpireConfirmations :exec
update messaging.campaign_shipments set status = 'skipped', error = 'unconfirmed', updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and campaign_id = sqlc.arg(campaign_id) and status = 'confirming' and updated_at < sqlc.arg(before)::timestamptz;

-- name: DequeueShipments :exec
-- What was not handed to the network goes back to the campaign. A process that has leased it does
-- not send it any more: it cannot mark it.
with removed as (
  delete from messaging.outbox o using messaging.campaign_shipments s
  where s.company_id = sqlc.arg(company_id)::bigint and s.campaign_id = sqlc.arg(campaign_id)::bigint and s.status in ('queued', 'confirming')
    and o.company_id = s.company_id and o.message_id = any(array[s.message_id, s.confirmation_id]) and o.handed_at is null
  returning o.message_id)
select messaging.settle_unsent(sqlc.arg(company_id)::bigint, array_agg(r.message_id), array_agg(r.message_id), sqlc.arg(code)::text, sqlc.arg(at)::timestamptz) from removed r having count(*) > 0;

-- name: RequeueMessage :one
-- The message of a shipment that goes on: it keeps its id, so that the network accepts it once.
-- No row: it was deleted.
update messaging.messages set connection_id = sqlc.arg(connection_id)::bigint, ack = 0, error_code = null, updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) and ack < 1 returning *;

-- name: LockRunningCampaignsOfConnection :many
select * from messaging.campaigns where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id)::bigint and status = 'running' order by id for no key update;

-- name: ShipmentCount :one
select count(*) from messaging.campaign_shipments where company_id = sqlc.arg(company_id) and campaign_id = sqlc.arg(campaign_id) and status = any(sqlc.arg(statuses)::text[]);

-- name: ContactIDsOfCampaign :many
-- In the order of sending.
select contact_id from messaging.campaign_shipments where company_id = sqlc.arg(company_id) and campaign_id = sqlc.arg(campaign_id) order by seq limit sqlc.arg(max_rows)::int;

-- name: ShipmentsPage :many
select sqlc.embed(s), c.name from messaging.campaign_shipments s join messaging.contacts c on c.company_id = s.company_id and c.id = s.contact_id
where s.company_id = sqlc.arg(company_id) and s.campaign_id = sqlc.arg(campaign_id) and (cardinality(sqlc.arg(statuses)::text[]) = 0 or s.status = any(sqlc.arg(statuses)::text[]))
order by s.seq offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: LockCampaignUsage :one
insert into messaging.campaign_usage as u (company_id, connection_id, day) values (sqlc.arg(company_id), sqlc.arg(connection_id), sqlc.arg(day)::text::date)
on conflict (company_id, connection_id, day) do update set sent = u.sent returning sent;

-- name: AddCampaignUsage :exec
update messaging.campaign_usage set sent = sent + sqlc.arg(sent)::int where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id) and day = sqlc.arg(day)::text::date;

-- name: CampaignStateOfContact :one
-- Whether campaigns have written to the contact without a ticket, and whether they wait for its
-- answer. An update would cost its triggers with each message of a contact, also where it finds nothing.
select (exists (select from messaging.messages m where m.company_id = sqlc.arg(company_id) and m.contact_id = sqlc.arg(contact_id) and m.ticket_id is null))::boolean as has_messages,
  (exists (select from messaging.campaign_shipments s where s.company_id = sqlc.arg(company_id) and s.contact_id = sqlc.arg(contact_id) and s.status = 'confirming'))::boolean as is_asked;

-- name: AttachMessages :exec
-- The contact has answered: its ticket begins with the campaign's message.
update messaging.messages set ticket_id = sqlc.arg(ticket_id)::bigint, updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and ticket_id is null and connection_id = sqlc.arg(connection_id)::bigint;

-- name: EraseShipmentsOfContact :exec
-- Who has not got the message yet does not get it.
update messaging.campaign_shipments set number = '', message = '', updated_at = sqlc.arg(at)::timestamptz,
  status = case when status in ('pending', 'confirming', 'confirmed') then 'skipped' else status end,
  error = case when status in ('pending', 'confirming', 'confirmed') then sqlc.arg(code)::text else error end
where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id);

-- name: EraseOldShipments :many
-- Of shipments with a result from before a time, after a place in the order of their keys.
update messaging.campaign_shipments set number = '', message = '' where (company_id, campaign_id, contact_id) in (
  select s.company_id, s.campaign_id, s.contact_id from messaging.campaign_shipments s
  where s.company_id = sqlc.arg(company_id) and (s.campaign_id, s.contact_id) > (sqlc.arg(after_campaign)::bigint, sqlc.arg(after_contact)::bigint)
    and s.status in ('sent', 'delivered', 'read', 'failed', 'skipped') and s.updated_at < sqlc.arg(before)::timestamptz and (s.number <> '' or s.message <> '')
  order by s.campaign_id, s.contact_id limit sqlc.arg(max_rows)::int)
returning campaign_id, contact_id;
