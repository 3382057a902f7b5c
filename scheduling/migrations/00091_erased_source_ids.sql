-- Clients who were erased before an erasure replaced the source_id of their appointments: a
-- connected product may have made it of a phone number.
-- +goose Up
update scheduling.appointments a set source_id = null from scheduling.clients c
where c.org_id = a.org_id and c.id = a.client_id and c.anonymized_at is not null and a.source_id is not null;
