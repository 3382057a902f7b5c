-- Whoever books on the public pages can name any e-mail address. The e-mails that follow are limited
-- by address; what was left out is marked for staff.
-- +goose Up
create table scheduling.booking_emails (
    org_id         uuid        not null references scheduling.organizations (id) on delete cascade,
    id             uuid        not null,
    recipient_hash bytea       not null, -- keyed hash: the table does not reveal addresses
    sent_at        timestamptz not null,
    primary key (org_id, id)
);
create index booking_emails_recipient on scheduling.booking_emails (recipient_hash, sent_at);
create index booking_emails_expiry on scheduling.booking_emails (sent_at);

alter table scheduling.appointments add column emails_withheld boolean not null default false; -- the last e-mail to the client was left out

create or replace view scheduling.appointment_details as
select a.org_id, a.id, a.client_id, a.professional_id, a.service_id, a.start_at, a.end_at, a.price_cents, a.status, a.source,
       a.notes, a.cancel_reason, a.cancelled_by, a.cancelled_at, a.confirmed_at, a.completed_at, a.no_show_at,
       a.rescheduled_count, a.original_start_at, a.deposit_status, a.deposit_cents, a.hold_until, a.paid_cents, a.needs_refund,
       a.version, a.token_version, a.ics_sequence, a.overbooked, a.locale, a.created_at, a.updated_at,
       c.name as client_name, c.phone as client_phone, c.email as client_email,
       p.name as professional_name, s.name as service_name, s.color as service_color, a.emails_withheld
from scheduling.appointments a
join scheduling.clients c on c.org_id = a.org_id and c.id = a.client_id
join scheduling.professionals p on p.org_id = a.org_id and p.id = a.professional_id
join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id;
