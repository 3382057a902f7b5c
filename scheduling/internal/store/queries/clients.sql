-- name: CreateClient :one
insert into scheduling.clients (org_id, id, name, phone, phone_e164, email, cpf_sealed, cpf_hash, birth_date, notes, tags, is_blocked, name_source, email_source, created_at, updated_at, cpf_parts,
    marketing_consent_at, marketing_consent_source)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $14, $15, $16, $17) returning *;

-- name: ClientByID :one
select * from scheduling.clients where org_id = $1 and id = $2 and anonymized_at is null;

-- name: LockClient :one
select * from scheduling.clients where org_id = $1 and id = $2 and anonymized_at is null for no key update;

-- name: UpdateClient :one
update scheduling.clients set name = $3, phone = $4, phone_e164 = $5, email = $6, cpf_sealed = $7, cpf_hash = $8, birth_date = $9,
    notes = $10, tags = $11, is_blocked = $12, name_source = $13, email_source = $14, updated_at = $15, cpf_parts = $16,
    marketing_consent_at = $17, marketing_consent_source = $18 where org_id = $1 and id = $2 returning *;

-- name: UpdateClientFromClinic :execrows
-- Stores the clinic's details of a client; details from others stay.
update scheduling.clients set
    name = case when name_source = 'clinic' then coalesce(nullif(@name::text, ''), name) else name end,
    email = case when @email::text <> '' and (email is null or email_source = 'clinic') then @email::text else email end,
    email_source = case when @email::text <> '' and email is null then 'clinic' else email_source end,
    updated_at = @now::timestamptz where org_id = @org_id and id = @id and anonymized_at is null
and (name_source = 'clinic' and @name::text not in ('', name)
    or @email::text <> '' and (email is null or email_source = 'clinic') and email is distinct from @email::text);

-- name: SearchClients :many
select sqlc.embed(c), count(*) over () as total from scheduling.clients c where c.org_id = @org_id and c.anonymized_at is null
and (@term::text = '' or c.name_search like '%' || scheduling.search_form(@term) || '%'
    or lower(c.email) like '%' || lower(@term) || '%'
    or (@digits::text <> '' and (c.phone_digits like '%' || @digits || '%' or c.phone_e164 like '%' || @digits || '%' or c.phone_e164 = any(@phones::text[])))
    or c.cpf_hash = sqlc.narg('cpf_hash') or c.cpf_parts && sqlc.narg('cpf_part')::bigint[])
order by c.name_search, c.id limit @row_limit::int offset @row_offset::int;

-- name: ClientsByPhone :many
-- All of them: bookings and erasures choose by name, also among the clients of a company.
select * from scheduling.clients where org_id = @org_id and anonymized_at is null and phone_e164 = any(@phones::text[]) order by created_at, id;

-- name: ClientsByPhoneInAllOrgs :many
select * from scheduling.clients where phone_e164 = any(@phones::text[]) and anonymized_at is null order by org_id, created_at limit 100;

-- name: ClientsByEmailInAllOrgs :many
select * from scheduling.clients where lower(email) = @email::text and anonymized_at is null order by org_id, created_at limit 100;

-- name: OrganizationIDs :many
select id from scheduling.organizations;

-- name: ClientsByCPFParts :many
-- Of all organizations: each has hashes of its own.
select * from scheduling.clients where cpf_parts && @parts::bigint[] and cpf_parts is not null and anonymized_at is null order by created_at desc, id limit 100;

-- name: ClientByEmail :one
select * from scheduling.clients where org_id = @org_id and anonymized_at is null and lower(email) = lower(@email::text) order by created_at, id limit 1;

-- name: ClientsByEmail :many
-- All of them, as ClientsByPhone.
select * from scheduling.clients where org_id = @org_id and anonymized_at is null and email is not null and lower(email) = lower(@email::text)
order by created_at, id;

-- name: ClientVisitDates :many
select c.id, coalesce(max(a.start_at) filter (where a.status = 'completed'), '0001-01-01 00:00:00Z')::timestamptz as last_at,
       coalesce(min(a.start_at) filter (where a.status in ('scheduled', 'confirmed') and a.start_at > @now::timestamptz), '0001-01-01 00:00:00Z')::timestamptz as next_at
from scheduling.clients c left join scheduling.appointments a on a.org_id = c.org_id and a.client_id = c.id
where c.org_id = @org_id and c.id = any(@client_ids::uuid[]) group by c.id;

-- name: AdjustClientTotals :one
update scheduling.clients set total_appointments = total_appointments + @appointments::int, no_show_count = no_show_count + @no_shows::int,
    total_spent_cents = total_spent_cents + @spent::bigint, loyalty_points = loyalty_points + @points::bigint
where org_id = @org_id and id = @id returning *;

-- name: AnonymizeClient :exec
update scheduling.clients set name = 'Removed', phone = null, phone_e164 = null, email = null, cpf_sealed = null, cpf_hash = null, cpf_parts = null, birth_date = null,
    notes = '', tags = '{}', marketing_consent_at = null, marketing_consent_source = null, anonymized_at = @now::timestamptz, updated_at = @now where org_id = @org_id and id = @id;

-- name: ClearClientTexts :exec
-- What people wrote beside a client's bookings, payments and points may name the client.
with cleared as (
    update scheduling.appointments a set notes = '', cancel_reason = null, contact_name = null, contact_email = null, source_hash = null
    where a.org_id = @org_id and a.client_id = @client_id returning a.id
), paid as (
    update scheduling.payments p set description = '' where p.org_id = @org_id and p.client_id = @client_id and p.description <> ''
), codes as ( -- they hold the description
    update scheduling.charges g set pix_copy_paste = '' from scheduling.payments p
    where p.org_id = @org_id and p.client_id = @client_id and g.org_id = p.org_id and g.payment_id = p.id
), points as (
    update scheduling.loyalty_entries e set description = '' where e.org_id = @org_id and e.client_id = @client_id and e.description <> ''
), waiting as (
    delete from scheduling.waitlist w where w.org_id = @org_id and w.client_id = @client_id
) update scheduling.appointment_history h set reason = null from cleared where h.org_id = @org_id and h.appointment_id = cleared.id and h.reason is not null;

-- name: SearchForm :one
select scheduling.search_form(@name::text)::text as form;

-- name: ClientsWithUnindexedCPF :many
select * from scheduling.clients where cpf_hash is not null and cpf_parts is null and (org_id, id) > (@after_org::uuid, @after::uuid)
order by org_id, id limit @row_limit::int;

-- name: SetCPFParts :exec
update scheduling.clients set cpf_parts = @parts::bigint[] where org_id = @org_id and id = @id and cpf_hash = @cpf_hash and cpf_parts is null;

-- name: SetMarketingConsent :exec
update scheduling.clients set marketing_consent_at = @now::timestamptz, marketing_consent_source = @source, updated_at = @now
where org_id = @org_id and id = @id and marketing_consent_at is null and anonymized_at is null;

-- name: WithdrawMarketingConsent :execrows
update scheduling.clients set marketing_consent_at = null, marketing_consent_source = null, updated_at = @now::timestamptz
where org_id = @org_id and id = @id and anonymized_at is null;

-- name: ClientAppointmentIDs :many
-- The newest appointments of a client.
select id from scheduling.appointments where org_id = @org_id and client_id = @client_id order by start_at desc, id desc limit 200;
