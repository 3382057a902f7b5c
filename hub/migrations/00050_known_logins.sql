-- From where accounts have logged in: these are not refused for what strangers do at the same
-- address, and their logins are checked first.
-- +goose Up
create table hub.known_logins (
    account_hash bytea       not null, -- keyed hash: the table does not reveal accounts
    ip           text        not null, -- IPv6: the network of 64 bits
    at           timestamptz not null, -- of the last login, to the day
    primary key (account_hash, ip)
);
create index known_logins_expiry on hub.known_logins (at);
