-- +goose NO TRANSACTION
-- Failed logins count by network, too, over all accounts. Accounts that logged in from a network
-- before are exempt: these are not refused for what strangers do there.
-- +goose Up
create table if not exists messaging.known_logins (
    account_hash bytea       not null, -- keyed hash: the table does not reveal accounts
    ip           text        not null, -- IPv6: the network of 64 bits
    at           timestamptz not null, -- of the last login, to the day
    primary key (account_hash, ip)
);
create index concurrently if not exists known_logins_expiry on messaging.known_logins (at);
create index concurrently if not exists login_failures_network on messaging.login_failures (ip, at);
