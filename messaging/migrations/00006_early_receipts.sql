-- Receipts that arrived before the message's id at the network was stored: networks may
-- answer on another connection faster than on the one that sent.
-- +goose Up
create table messaging.early_receipts (
    company_id    bigint      not null,
    connection_id bigint      not null,
    remote_id     text        not null,
    ack           int         not null check (ack between -1 and 4),
    error_code    text,
    created_at    timestamptz not null default now(),
    primary key (company_id, connection_id, remote_id),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade
);
create index early_receipts_expiry on messaging.early_receipts (created_at);
