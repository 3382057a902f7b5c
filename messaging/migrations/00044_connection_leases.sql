-- Of several processes one owns a connection: it sends what waits, and looks after the session.
-- +goose Up
create table messaging.connection_leases (
    company_id    bigint      not null,
    connection_id bigint      not null,
    holder        text        not null, -- the process
    leased_until  timestamptz not null, -- the database's clock, as checked_at
    checked_at    timestamptz,          -- when the network was last asked for the session's state
    primary key (company_id, connection_id),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade
);
