-- The same mail for programs that show it with form.
-- +goose Up
alter table hub.mails add column html text not null default '';
