-- Networks that count the states of a connection: an older state that comes late has no effect.
-- +goose Up
alter table messaging.connections add column state_sequence bigint not null default 0; -- of the stored state; 0: it is not counted
