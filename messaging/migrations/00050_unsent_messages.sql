-- Who takes a message out of the outbox that is not going to be sent settles what waits for it:
-- the message, its schedule, its shipment.
-- +goose Up

-- settle_unsent stores that messages are not sent, and why. What was accepted meanwhile stays as
-- it is. Nobody was sending the idle ones: their shipments wait again where the campaign may go
-- on.
-- +goose StatementBegin
create function messaging.settle_unsent(company bigint, ids text[], idle text[], code text, at timestamptz) returns void language plpgsql as $$
declare
    is_skipped constant boolean := code in ('opted_out', 'anonymized');
    again      constant text[]  := case when code in ('connection_deleted', 'campaign_cancelled') then coalesce(idle, '{}') else '{}' end;
begin
    update messaging.messages set ack = -1, error_code = code, updated_at = at
    where company_id = company and id = any(ids) and ack = 0;
    update messaging.schedules set status = 'error', error = code, updated_at = at
    where company_id = company and message_id = any(ids) and status = 'queued';
    update messaging.campaign_shipments set updated_at = at,
        status = case when message_id = any(again) then case when confirmation_id is null then 'pending' else 'confirmed' end when is_skipped then 'skipped' else 'failed' end,
        error = case when message_id = any(again) then null else code end
    where company_id = company and message_id = any(ids) and status = 'queued';
    update messaging.campaign_shipments set updated_at = at, -- contacts who would have been asked
        status = case when confirmation_id = any(again) then 'pending' when is_skipped then 'skipped' else 'failed' end,
        error = case when confirmation_id = any(again) then null else code end
    where company_id = company and confirmation_id = any(ids) and status = 'confirming';
end
$$;
-- +goose StatementEnd

-- What was left behind before: nobody knows any more whether it was being sent.
with unsent as (
    select s.company_id, s.message_id from messaging.campaign_shipments s where s.status = 'queued'
    union select s.company_id, s.message_id from messaging.schedules s where s.status = 'queued'
    union select m.company_id, m.id from messaging.messages m
    where m.from_me and m.ack = 0 and not m.is_private and m.origin <> 'phone' and m.error_code is null),
stuck as (
    select u.company_id, u.message_id, case
        when m.id is null then 'ticket_deleted'
        when c.anonymized_at is not null then 'anonymized'
        when m.connection_id is null then 'connection_deleted'
        when m.origin = 'campaign' then 'campaign_cancelled' end as code
    from unsent u
    left join messaging.messages m on m.company_id = u.company_id and m.id = u.message_id
    left join messaging.contacts c on c.company_id = m.company_id and c.id = m.contact_id
    where not exists (select from messaging.outbox o where o.company_id = u.company_id and o.message_id = u.message_id)
      and not exists (select from messaging.unclear_messages x where x.company_id = u.company_id and x.message_id = u.message_id))
select messaging.settle_unsent(company_id, array_agg(message_id), '{}', code, now()) from stuck where code is not null group by company_id, code;
