-- What is sent in the background.
-- +goose Up
-- A message that goes through another product is claimed before it is sent: one whose
-- outcome nobody heard of may have arrived and is not sent again.
alter table scheduling.reminders
    add column claimed_at timestamptz,
    add column attempts   integer not null default 0,
    add column retry_at   timestamptz;

-- A calendar feed is asked for by the professional alone.
create index professionals_id on scheduling.professionals (id);

-- What is forgotten after a time.
create index provider_events_done on scheduling.provider_events (processed_at) where processed_at is not null;
create index old_slugs_expiry on scheduling.old_slugs (redirects_until);

-- Whoever waits is told of a time that has become free.
alter table scheduling.waitlist add constraint waitlist_span check (last_date - first_date <= 92);

-- Whose birthday it is.
create index clients_birthday on scheduling.clients (org_id, (extract(month from birth_date)), (extract(day from birth_date)))
    where birth_date is not null and anonymized_at is null;
