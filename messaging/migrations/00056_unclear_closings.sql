-- A receipt that settles a message closes the ticket that the message was to close.
-- +goose Up
alter table messaging.unclear_messages add column closes_ticket boolean not null default false; -- once a receipt says that it was sent
