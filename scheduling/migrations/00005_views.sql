-- What is read together, said once.
-- +goose Up
create view scheduling.appointment_details as
select a.org_id, a.id, a.client_id, a.professional_id, a.service_id, a.start_at, a.end_at, a.price_cents, a.status, a.source,
       a.notes, a.cancel_reason, a.cancelled_by, a.cancelled_at, a.confirmed_at, a.completed_at, a.no_show_at,
       a.rescheduled_count, a.original_start_at, a.deposit_status, a.deposit_cents, a.paid_cents, a.version, a.token_version,
       a.overbooked, a.created_at, a.updated_at,
       c.name as client_name, c.phone as client_phone, p.name as professional_name, s.name as service_name, s.color as service_color
from scheduling.appointments a
join scheduling.clients c on c.org_id = a.org_id and c.id = a.client_id
join scheduling.professionals p on p.org_id = a.org_id and p.id = a.professional_id
join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id;

-- What people type in search of a name, in the form of clients.name_search.
create function scheduling.search_form(text) returns text language sql immutable parallel safe as $$
    select regexp_replace(normalize(lower($1), NFD), '[\u0300-\u036f]', '', 'g')
$$;

-- Availability is asked for by the service alone.
create index services_id on scheduling.services (id);

-- The console looks for a phone in every organization.
create index clients_phone_anywhere on scheduling.clients (phone_e164) where anonymized_at is null;
