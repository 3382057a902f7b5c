-- How long a network wants to be left alone with a message. Nothing sends it sooner, unlike one that waits
-- because an attempt has failed.
-- +goose Up
alter table messaging.outbox add column paused_until timestamptz; -- null: the network asked for no pause
