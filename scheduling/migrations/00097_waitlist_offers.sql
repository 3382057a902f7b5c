-- A run of the waitlist job that is repeated offers the freed time to no further client.
-- +goose Up
alter table scheduling.waitlist add column offer_id uuid; -- of the freed time that was offered; null: none, or by an earlier version
create unique index waitlist_offers on scheduling.waitlist (org_id, offer_id) where offer_id is not null;
