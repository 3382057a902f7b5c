-- Photos that were uploaded, and the language in which a client booked.
-- +goose Up
alter table scheduling.services add column image_key text; -- of the blob; null: none was uploaded
alter table scheduling.services add constraint services_one_image check (image_key is null or image_url is null) not valid;
alter table scheduling.professionals add column avatar_key text;
alter table scheduling.professionals add constraint professionals_one_avatar check (avatar_key is null or avatar_url is null) not valid;

alter table scheduling.appointments add column locale text; -- null: the organization's
alter table scheduling.appointments add constraint appointments_locale check (locale in ('pt-BR', 'en', 'es')) not valid;

drop view scheduling.appointment_details;
create view scheduling.appointment_details as
select a.org_id, a.id, a.client_id, a.professional_id, a.service_id, a.start_at, a.end_at, a.price_cents, a.status, a.source,
       a.notes, a.cancel_reason, a.cancelled_by, a.cancelled_at, a.confirmed_at, a.completed_at, a.no_show_at,
       a.rescheduled_count, a.original_start_at, a.deposit_status, a.deposit_cents, a.hold_until, a.paid_cents, a.needs_refund,
       a.version, a.token_version, a.ics_sequence, a.overbooked, a.locale, a.created_at, a.updated_at,
       c.name as client_name, c.phone as client_phone, c.email as client_email,
       p.name as professional_name, s.name as service_name, s.color as service_color
from scheduling.appointments a
join scheduling.clients c on c.org_id = a.org_id and c.id = a.client_id
join scheduling.professionals p on p.org_id = a.org_id and p.id = a.professional_id
join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id;
