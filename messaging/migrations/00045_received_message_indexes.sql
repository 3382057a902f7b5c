-- +goose NO TRANSACTION
-- What a contact writes has no user, and most tickets have no user or queue: indexes of those
-- columns leave such rows out. A phone's waiting messages are found without those of others.
-- +goose Up
create index concurrently if not exists messages_sender on messaging.messages (company_id, user_id) where user_id is not null;
drop index concurrently if exists messaging.messages_user;
create index concurrently if not exists tickets_owner on messaging.tickets (company_id, user_id) where user_id is not null;
drop index concurrently if exists messaging.tickets_user;
create index concurrently if not exists tickets_in_queue on messaging.tickets (company_id, queue_id) where queue_id is not null;
drop index concurrently if exists messaging.tickets_queue;
create index concurrently if not exists sandbox_messages_undelivered on messaging.sandbox_messages (recipient, sender, seq) where is_waiting;
drop index concurrently if exists messaging.sandbox_messages_waiting;
