-- When somebody wrote is no change of a contact: the trigger compares columns before it runs,
-- instead of whole rows as JSON afterwards. Room in each page keeps these updates out of the
-- indexes.
-- +goose Up
-- +goose StatementBegin
create function messaging.record_contact_change() returns trigger language plpgsql as $$
begin
    insert into messaging.changes (company_id, kind, action, item_id) values (new.company_id, 'contact', 'update', new.id::text);
    return null;
end
$$;
-- +goose StatementEnd
drop trigger record_updates on messaging.contacts;
create trigger record_updates after update on messaging.contacts for each row when (
    (old.name, old.number, old.number_key, old.lid, old.email, old.picture_url, old.is_group, old.disable_bot, old.extra_info, old.consent, old.consent_at, old.anonymized_at, old.out_of_hours_at, old.created_at)
    is distinct from
    (new.name, new.number, new.number_key, new.lid, new.email, new.picture_url, new.is_group, new.disable_bot, new.extra_info, new.consent, new.consent_at, new.anonymized_at, new.out_of_hours_at, new.created_at)
) execute function messaging.record_contact_change();
alter table messaging.contacts set (fillfactor = 85);
-- A message's contact is of its company, so that the company exists: checking that again with
-- each message costs a lookup.
alter table messaging.messages drop constraint messages_company_id_fkey;
