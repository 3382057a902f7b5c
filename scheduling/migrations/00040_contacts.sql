-- +goose NO TRANSACTION
-- Who leaves no phone number is known by the e-mail address.
-- +goose Up
drop index concurrently if exists scheduling.clients_email; -- of an attempt that was broken off
create index concurrently clients_email on scheduling.clients (org_id, lower(email)) where email is not null and anonymized_at is null;
