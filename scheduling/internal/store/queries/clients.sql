-- name: CreateClient :one
insert into scheduling.clients (org_id, id, name, phone, phone_e164, email, cpf_sealed, cpf_hash, birth_date, notes, tags, is_blocked, name_source, email_source, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $14) returning *;

-- name: ClientByID :one
select * from scheduling.clients where org_id = $1 and id = $2 and anonymized_at is null;

-- name: LockClient :one
select * from scheduling.clients where org_id = $1 and id = $2 and anonymized_at is null for no key update;

-- name: UpdateClient :one
update scheduling.clients set name = $3, phone = $4, phone_e164 = $5, email = $6, cpf_sealed = $7, cpf_hash = $8, birth_date = $9,
    notes = $10, tags = $11, is_blocked = $12, name_source = $13, email_source = $14, updated_at = $15 where org_id = $1 and id = $2 returning *;

-- name: SearchClients :many
select sqlc.embed(c), count(*) over () as total from scheduling.clients c where c.org_id = @org_id and c.anonymized_at is null
and (@term::text = '' or c.name_search like '%' || scheduling.search_form(@term) || '%'
    or (@digits::text <> '' and c.phone_digits like '%' || @digits || '%')
    or c.email ilike '%' || @term || '%' or c.cpf_hash = sqlc.narg('cpf_hash'))
order by c.name_search, c.id limit @row_limit::int offset @row_offset::int;

-- name: ClientsByPhone :many
select * from scheduling.clients where org_id = @org_id and anonymized_at is null and phone_e164 = any(@phones::text[]) order by created_at, id limit 50;

-- name: ClientByEmail :one
select * from scheduling.clients where org_id = @org_id and anonymized_at is null and lower(email) = lower(@email::text) order by created_at, id limit 1;

-- name: LockNames :exec
-- Until the transaction ends nobody else has the same names; they are given in order.
select pg_advisory_xact_lock(hashtextextended(name, 7240913)) from unnest(@names::text[]) name;

-- name: NeighboursOf :many
select c.id, coalesce(max(a.start_at) filter (where a.status = 'completed'), '0001-01-01 00:00:00Z')::timestamptz as last_at,
       coalesce(min(a.start_at) filter (where a.status in ('scheduled', 'confirmed') and a.start_at > @now::timestamptz), '0001-01-01 00:00:00Z')::timestamptz as next_at
from scheduling.clients c left join scheduling.appointments a on a.org_id = c.org_id and a.client_id = c.id
where c.org_id = @org_id and c.id = any(@client_ids::uuid[]) group by c.id;

-- name: AddToClient :one
update scheduling.clients set total_appointments = total_appointments + @appointments::int, no_show_count = no_show_count + @no_shows::int,
    total_spent_cents = total_spent_cents + @spent::bigint, loyalty_points = loyalty_points + @points::bigint
where org_id = @org_id and id = @id returning *;

-- name: AnonymizeClient :exec
update scheduling.clients set name = 'Removed', phone = null, phone_e164 = null, email = null, cpf_sealed = null, cpf_hash = null, birth_date = null,
    notes = '', tags = '{}', marketing_consent_at = null, anonymized_at = @now::timestamptz, updated_at = @now where org_id = @org_id and id = @id;

-- name: AppointmentsOfClients :many
select * from scheduling.appointment_details where org_id = @org_id and client_id = any(@client_ids::uuid[])
and (cardinality(@statuses::text[]) = 0 or status = any(@statuses::text[]))
order by start_at desc, id limit @row_limit::int;

-- name: ClientsAnywhere :many
select * from scheduling.clients where phone_e164 = any(@phones::text[]) and anonymized_at is null order by org_id, created_at limit 100;

-- name: ClearTracesOfClient :exec
with cleared as (
    update scheduling.appointments set notes = '', cancel_reason = null where org_id = @org_id and client_id = @client_id returning id
) update scheduling.appointment_history h set reason = null from cleared where h.org_id = @org_id and h.appointment_id = cleared.id and h.reason is not null;

-- name: RefreshClient :exec
update scheduling.clients set
    name = case when name_source = 'clinic' then coalesce(sqlc.narg('name')::text, name) else name end,
    email = case when email_source = 'clinic' then coalesce(sqlc.narg('email')::text, email) else email end,
    updated_at = @now where org_id = @org_id and id = @id;
