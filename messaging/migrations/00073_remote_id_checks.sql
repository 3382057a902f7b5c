-- +goose NO TRANSACTION
-- Anonymized contacts whose messages may still have ids of the network, which may have the number in
-- them: earlier versions kept them. The key of the hashes is the hub's, so a job makes them. The trigger
-- notes also those that processes of an earlier version anonymize while the hub is upgraded.
-- +goose Up
create table if not exists messaging.remote_id_checks (
    company_id bigint not null,
    contact_id bigint not null,
    primary key (company_id, contact_id),
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade
);
-- +goose StatementBegin
create or replace function messaging.check_remote_ids() returns trigger language plpgsql as $$
begin
    insert into messaging.remote_id_checks (company_id, contact_id) values (new.company_id, new.id) on conflict do nothing;
    return null;
end
$$;
-- +goose StatementEnd
create or replace trigger check_remote_ids after update on messaging.contacts for each row when (old.anonymized_at is null and new.anonymized_at is not null) execute function messaging.check_remote_ids();
insert into messaging.remote_id_checks (company_id, contact_id)
select c.company_id, c.id from messaging.contacts c where c.anonymized_at is not null
on conflict do nothing;
