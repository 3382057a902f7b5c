-- What tells this installation from others that use the same Redis.
-- +goose Up
create table hub.installation (
    only_row boolean primary key default true check (only_row),
    id       uuid    not null default gen_random_uuid()
);
insert into hub.installation default values;
