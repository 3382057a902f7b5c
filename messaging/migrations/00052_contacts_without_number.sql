-- A network may name a contact by its own id (LID) only: such a contact has no number until the
-- network tells it. Networks register Brazilian mobile numbers with their ninth digit or without:
-- messages go to the number that is registered.
-- +goose Up
alter table messaging.contacts
    add column network_number text; -- by which the network knows the contact; null: not known yet
alter table messaging.contacts drop constraint contacts_number_check;
alter table messaging.contacts add constraint contacts_number_check
    check (number ~ '^[1-9][0-9]{7,14}$' or number = '' and (anonymized_at is not null or lid is not null)) not valid;
alter table messaging.contacts validate constraint contacts_number_check;
alter table messaging.sandbox_faults
    add column exact_numbers boolean not null default false;
