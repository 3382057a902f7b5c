-- +goose Up
create table users (
    id        uuid    primary key,
    tenant_id uuid    not null,
    token     text    not null unique,
    admin     boolean not null
);
create table notes (
    id          uuid primary key default gen_random_uuid(),
    tenant_id   uuid not null,
    environment text not null,
    author      text not null,
    event_id    text not null,
    text        text not null
);
create table runs (
    payload text not null,
    at      timestamptz not null default now()
);
