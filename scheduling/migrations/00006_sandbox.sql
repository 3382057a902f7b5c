-- Charges of the sandbox, the payment provider for developers. It stands for a
-- company elsewhere: nothing refers to it, and it refers to nothing.
-- +goose Up
create table scheduling.sandbox_charges (
    id             text        primary key,
    order_id       uuid        not null unique,
    txid           text        not null unique,
    status         text        not null default 'pending' check (status in ('pending', 'paid', 'cancelled', 'refunded')),
    amount_cents   bigint      not null check (amount_cents > 0),
    refunded_cents bigint      not null default 0 check (refunded_cents between 0 and amount_cents),
    code           text        not null, -- BR Code
    notify_url     text        not null,
    expires_at     timestamptz not null,
    paid_at        timestamptz
);

create table scheduling.sandbox_refunds (
    id        uuid primary key,
    charge_id text not null references scheduling.sandbox_charges (id)
);
