-- Charges of payment providers: what becomes of them.
-- +goose Up
alter table scheduling.provider_events add column charge_id text not null; -- at the provider
alter table scheduling.charges add column due_at timestamptz; -- when to ask the provider; null: there is nothing to ask
drop index scheduling.charges_expiry;
create index charges_due on scheduling.charges (due_at) where due_at is not null;

-- Money that goes back through a provider, until it has.
create table scheduling.refunds (
    org_id       uuid        not null,
    id           uuid        not null, -- the provider's too: the same id is the same refund
    payment_id   uuid        not null,
    amount_cents bigint      not null check (amount_cents > 0),
    created_at   timestamptz not null default now(),
    due_at       timestamptz not null default now(), -- of the next attempt
    attempts     integer     not null default 0,
    done_at      timestamptz,
    failed_at    timestamptz,
    primary key (org_id, id),
    foreign key (org_id, payment_id) references scheduling.payments (org_id, id)
);
create index refunds_due on scheduling.refunds (due_at) where done_at is null and failed_at is null;
create index refunds_payment on scheduling.refunds (org_id, payment_id);

-- The system takes an appointment back that it had cancelled for want of a deposit.
alter table scheduling.appointment_history drop constraint appointment_history_action_check;
alter table scheduling.appointment_history add constraint appointment_history_action_check
    check (action in ('create', 'confirm', 'cancel', 'complete', 'noshow', 'reschedule', 'reopen', 'rebook'));

drop view scheduling.appointment_details;
create view scheduling.appointment_details as
select a.org_id, a.id, a.client_id, a.professional_id, a.service_id, a.start_at, a.end_at, a.price_cents, a.status, a.source,
       a.notes, a.cancel_reason, a.cancelled_by, a.cancelled_at, a.confirmed_at, a.completed_at, a.no_show_at,
       a.rescheduled_count, a.original_start_at, a.deposit_status, a.deposit_cents, a.hold_until, a.paid_cents, a.needs_refund,
       a.version, a.token_version, a.ics_sequence, a.overbooked, a.created_at, a.updated_at,
       c.name as client_name, c.phone as client_phone, c.email as client_email,
       p.name as professional_name, s.name as service_name, s.color as service_color
from scheduling.appointments a
join scheduling.clients c on c.org_id = a.org_id and c.id = a.client_id
join scheduling.professionals p on p.org_id = a.org_id and p.id = a.professional_id
join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id;

create view scheduling.payment_details as
select p.org_id, p.id, p.appointment_id, p.client_id, p.amount_cents, p.method, p.description, p.status, p.kind, p.paid_at,
       p.refunded_cents, p.created_by, p.created_at,
       c.provider, c.provider_payment_id, c.txid, c.pix_copy_paste, c.qr_code_url, c.expires_at
from scheduling.payments p
left join scheduling.charges c on c.org_id = p.org_id and c.payment_id = p.id;
