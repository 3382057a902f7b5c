-- The log is searched by phone number and by person. The index follows, partition by
-- partition.
-- +goose Up
-- Hashes of who an event of a hosted product is about; see hub/internal/subject. Null:
-- nobody, or the payload was erased.
alter table hub.events add column subjects bigint[];

-- +goose Down
alter table hub.events drop column subjects;
