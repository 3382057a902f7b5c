-- +goose NO TRANSACTION
-- Appointments lie in the years that an answer can have. What a product told before there
-- was this rule moves to the edge, each to a second of its own.
-- +goose Up
update clinic.appointments a set starts_at = outside.edge + outside.n * interval '1 second'
from (
    select clinic_id, env, id, row_number() over (order by id) as n,
        case when starts_at < '2000-01-01 00:00:00Z' then timestamptz '1900-01-01 00:00:00Z' else timestamptz '9998-12-01 00:00:00Z' end as edge
    from clinic.appointments where starts_at < '1899-12-31 00:00:00Z' or starts_at >= '9999-01-02 00:00:00Z'
) outside where a.clinic_id = outside.clinic_id and a.env = outside.env and a.id = outside.id;
alter table clinic.appointments drop constraint if exists appointments_starts_at;
alter table clinic.appointments add constraint appointments_starts_at
    check (starts_at >= '1899-12-31 00:00:00Z' and starts_at < '9999-01-02 00:00:00Z') not valid; -- the years 1900 to 9998, at any offset
alter table clinic.appointments validate constraint appointments_starts_at;
