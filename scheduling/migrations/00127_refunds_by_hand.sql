-- Staff record that they gave money back; until now only payment providers refunded.
-- +goose Up
alter table scheduling.refunds add column by_hand boolean not null default false; -- done when it was recorded, beside what the provider refunded
alter table scheduling.refunds add column created_by uuid; -- user; null: it was due by a rule
