-- Networks that cannot tell a repeated request: what was handed to them is not sent again by
-- itself, unless they said that they did not take it.
-- +goose Up
alter table messaging.outbox add column handed_at timestamptz; -- null: not handed to such a network

-- Messages of which nobody knows whether the network took them. A report of the network
-- decides; without one they have failed.
create table messaging.unclear_messages (
    company_id    bigint      not null,
    message_id    text        not null,
    due_at        timestamptz not null, -- when the wait for a report ends
    primary key (company_id, message_id),
    foreign key (company_id, message_id) references messaging.messages (company_id, id) on delete cascade
);
create index unclear_messages_due on messaging.unclear_messages (due_at);
