-- The area code of phone numbers that are written without theirs.
-- +goose Up
alter table scheduling.settings add column default_area_code text check (default_area_code ~ '^[1-9][1-9]$'); -- null: such numbers are refused
