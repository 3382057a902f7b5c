-- Whose data an entry of the record is about, and which of it: live or test.
-- +goose Up
alter table hub.audit add column environment text check (environment in ('live', 'test')); -- null: of neither
alter table hub.audit add column subject_id text; -- the person it is about, in the product's words: a patient's id; null: nobody in particular
create trigger append_only_whole before truncate on hub.audit
    for each statement execute function hub.refuse_change();
