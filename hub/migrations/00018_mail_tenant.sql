-- Whose mail it is: what one tenant forgets is no other's. Mail from before, with none, is
-- forgotten by nobody: it is sent or given up within a day.
-- +goose Up
alter table hub.mails add column tenant_id uuid;
