-- The interval between messages of programs holds for a connection, whichever process sends.
-- +goose Up
-- When a connection with an interval may send its next message of a program.
create table messaging.connection_paces (
    company_id    bigint      not null,
    connection_id bigint      not null,
    next_send_at  timestamptz not null, -- the database's clock
    primary key (company_id, connection_id),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade
);
insert into messaging.connection_paces (company_id, connection_id, next_send_at) select company_id, id, now() from messaging.connections where send_interval_ms > 0;
