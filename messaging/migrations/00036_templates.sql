-- Messages that are templates of the network. The columns have no default: existing rows are not rewritten.
-- +goose Up
alter table messaging.messages add column template jsonb; -- null: an ordinary message; body is then its text for people
alter table messaging.schedules add column template jsonb;
alter table messaging.campaigns add column template jsonb;
-- With a template the text may be empty: it is made of the template.
alter table messaging.schedules drop constraint schedules_body_check;
alter table messaging.schedules add constraint schedules_body_check check (char_length(body) <= 4096 and (body <> '' or template is not null)) not valid;
alter table messaging.schedules validate constraint schedules_body_check;
