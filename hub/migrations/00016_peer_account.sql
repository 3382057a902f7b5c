-- Which of the peer product's accounts an integration is with, and which keys a
-- handshake has replaced.
-- +goose Up
alter table hub.integrations add column peer_account text; -- as the peer's status names it; null: it names none, or was not asked yet
alter table hub.keys add column superseded boolean not null default false; -- the peer was given another: this one only lives on for the overlap
