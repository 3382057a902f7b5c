-- Users of a company have a preferred connection, and are online while a page of theirs
-- listens.
-- +goose Up
alter table messaging.users
    add column connection_id bigint,       -- whatsappId of the API; null: the company's default one
    add column online_until  timestamptz,  -- renewed while the user listens for updates; null: never
    add foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete set null (connection_id);
create index users_connection on messaging.users (company_id, connection_id);
