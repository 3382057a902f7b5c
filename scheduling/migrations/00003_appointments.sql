-- Clients and their appointments.
-- +goose Up
create extension if not exists btree_gist; -- uuid columns in an exclusion constraint

create table scheduling.clients (
    org_id               uuid        not null references scheduling.organizations (id) on delete cascade,
    id                   uuid        not null,
    name                 text        not null check (char_length(name) between 1 and 120),
    -- Lower case, without accents: what a search compares with.
    name_search          text        not null generated always as (regexp_replace(normalize(lower(name), NFD), '[\u0300-\u036f]', '', 'g')) stored,
    phone                text,       -- as it was sent
    phone_e164           text,       -- normalized; not unique, families share one
    phone_digits         text        generated always as (regexp_replace(phone, '\D', '', 'g')) stored,
    email                text,
    cpf_sealed           bytea,      -- encrypted; the digits stand nowhere else
    cpf_hash             bytea,      -- keyed hash of the digits, to find them
    birth_date           date,
    notes                text        not null default '',
    tags                 text[]      not null default '{}',
    is_blocked           boolean     not null default false,
    name_source          text        not null default 'staff' check (name_source in ('staff', 'client', 'clinic', 'messaging')),
    email_source         text        not null default 'staff' check (email_source in ('staff', 'client', 'clinic', 'messaging')),
    marketing_consent_at timestamptz,
    last_campaign_at     timestamptz,
    total_appointments   integer     not null default 0 check (total_appointments >= 0), -- completed
    total_spent_cents    bigint      not null default 0, -- paid, less refunds
    no_show_count        integer     not null default 0 check (no_show_count >= 0),
    loyalty_points       bigint      not null default 0 check (loyalty_points >= 0),
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now(),
    anonymized_at        timestamptz,
    primary key (org_id, id),
    check ((cpf_sealed is null) = (cpf_hash is null))
);
create index clients_name on scheduling.clients (org_id, name_search text_pattern_ops, id);
create index clients_phone on scheduling.clients (org_id, phone_e164);
create index clients_cpf on scheduling.clients (org_id, cpf_hash) where cpf_hash is not null;
create index clients_created on scheduling.clients (org_id, created_at);

create table scheduling.appointments (
    org_id            uuid        not null,
    id                uuid        not null,
    client_id         uuid        not null,
    professional_id   uuid        not null,
    service_id        uuid        not null,
    start_at          timestamptz not null,
    end_at            timestamptz not null,
    price_cents       bigint      not null check (price_cents between 0 and 9999999999),
    status            text        not null check (status in ('scheduled', 'confirmed', 'completed', 'cancelled', 'no_show')),
    source            text        not null check (source in ('web', 'dashboard', 'api', 'integration')),
    source_id         text,       -- of a connected product, which may ask twice
    notes             text        not null default '' check (char_length(notes) <= 2000),
    cancel_reason     text        check (char_length(cancel_reason) <= 500),
    cancelled_by      text        check (cancelled_by in ('staff', 'client', 'system', 'integration')),
    cancelled_at      timestamptz,
    confirmed_at      timestamptz,
    completed_at      timestamptz,
    no_show_at        timestamptz,
    rescheduled_count integer     not null default 0 check (rescheduled_count >= 0),
    original_start_at timestamptz,
    deposit_status    text        not null default 'none' check (deposit_status in ('none', 'pending', 'paid', 'refunded', 'forfeited')),
    deposit_cents     bigint      check (deposit_cents > 0),
    hold_until        timestamptz, -- an unpaid deposit lets go of the slot then
    paid_cents        bigint      not null default 0, -- payments, less refunds
    needs_refund      boolean     not null default false, -- paid after the slot had gone to somebody else
    version           integer     not null default 1, -- every change counts one up
    ics_sequence      integer     not null default 0,
    token_version     integer     not null default 1, -- of the client's link
    created_by        uuid,       -- user; null: nobody who was signed in
    created_at        timestamptz not null default now(),
    updated_at        timestamptz not null default now(),

    -- Who may be there at the same time. Appointments of one professional are in
    -- the same session where service, start and end are the same; a session has as
    -- many seats as its service had when they were given, for most services one.
    session           uuid        not null generated always as (md5(
                          service_id::text
                          || ' ' || extract(epoch from start_at at time zone 'UTC')::text
                          || ' ' || extract(epoch from end_at at time zone 'UTC')::text)::uuid) stored,
    capacity          smallint    not null default 1 check (capacity between 1 and 100),
    seat              smallint    not null default 1,
    overbooked        boolean     not null default false, -- put there knowingly, beside or on top of others

    primary key (org_id, id),
    foreign key (org_id, client_id) references scheduling.clients (org_id, id),
    foreign key (org_id, professional_id) references scheduling.professionals (org_id, id),
    foreign key (org_id, service_id) references scheduling.services (org_id, id),
    foreign key (org_id, created_by) references scheduling.users (org_id, id) on delete set null (created_by),
    constraint appointments_length check (start_at < end_at and end_at <= start_at + interval '24 hours'),
    constraint appointments_seat check (seat between 1 and capacity),
    constraint appointments_cancelled check ((status = 'cancelled') = (cancelled_at is not null) and (cancelled_at is null) = (cancelled_by is null)),
    constraint appointments_completed check ((status = 'completed') = (completed_at is not null)),
    constraint appointments_no_show check ((status = 'no_show') = (no_show_at is not null)),
    constraint appointments_deposit check (deposit_status = 'none' or deposit_cents is not null),
    constraint appointments_hold check (deposit_status <> 'pending' or hold_until is not null),

    -- No professional is in two sessions at once...
    constraint appointments_no_double_booking exclude using gist (
        professional_id with =,
        session with <>,
        tstzrange(start_at, end_at, '[)') with &&
    ) where (status in ('scheduled', 'confirmed', 'completed') and not overbooked)
);
-- ...and no seat of a session is given twice.
create unique index appointments_no_double_seat on scheduling.appointments (professional_id, session, seat)
    where status in ('scheduled', 'confirmed', 'completed') and not overbooked;
-- What availability reads.
create index appointments_busy on scheduling.appointments (org_id, professional_id, start_at) include (end_at, service_id)
    where status in ('scheduled', 'confirmed', 'completed');
create index appointments_start on scheduling.appointments (org_id, start_at, id);
create index appointments_client on scheduling.appointments (org_id, client_id, start_at);
create index appointments_service on scheduling.appointments (org_id, service_id, start_at);
create unique index appointments_source on scheduling.appointments (org_id, source, source_id) where source_id is not null;
create index appointments_unpaid_holds on scheduling.appointments (hold_until) where deposit_status = 'pending' and status = 'scheduled';

-- Writes to one professional's time take turns: whoever looks at what is taken, and
-- then writes, holds this lock until the transaction ends. Of several professionals,
-- the one with the lowest id first.
create function scheduling.lock_professional(professional uuid) returns void language sql as $$
    select pg_advisory_xact_lock(hashtextextended(professional::text, 7240912))
$$;

-- The exclusion constraint alone keeps doubles out, but transactions that meet in
-- it wait for each other and end as a deadlock, a second later. So no row gets to
-- it without the lock.
-- +goose StatementBegin
create function scheduling.take_turns() returns trigger language plpgsql as $$
begin
    perform scheduling.lock_professional(new.professional_id);
    return new;
end $$;
-- +goose StatementEnd
create trigger take_turns before insert on scheduling.appointments
    for each row execute function scheduling.take_turns();
create trigger take_turns_again before update on scheduling.appointments
    for each row when (
        new.status in ('scheduled', 'confirmed', 'completed')
        and (old.status in ('cancelled', 'no_show')
             or (old.professional_id, old.service_id, old.start_at, old.end_at, old.seat, old.overbooked)
                is distinct from (new.professional_id, new.service_id, new.start_at, new.end_at, new.seat, new.overbooked)))
    execute function scheduling.take_turns();

-- Every change of an appointment's status or time, oldest first.
create table scheduling.appointment_history (
    org_id               uuid        not null,
    id                   uuid        not null, -- UUIDv7
    appointment_id       uuid        not null,
    at                   timestamptz not null default now(),
    action               text        not null check (action in ('create', 'confirm', 'cancel', 'complete', 'noshow', 'reschedule', 'reopen')),
    actor                text        not null check (actor in ('staff', 'client', 'system', 'integration')),
    user_id              uuid,
    from_status          text,
    to_status            text        not null,
    from_start_at        timestamptz,
    to_start_at          timestamptz,
    from_professional_id uuid,
    to_professional_id   uuid,
    reason               text,
    primary key (org_id, id),
    foreign key (org_id, appointment_id) references scheduling.appointments (org_id, id) on delete cascade,
    constraint appointment_history_move check (action <> 'reschedule' or from_start_at is not null and to_start_at is not null)
);
create index appointment_history_appointment on scheduling.appointment_history (org_id, appointment_id, id);

-- Slots a client has before them while they fill in the form. They take a seat
-- until they run out; writes look at them under the professional's lock.
create table scheduling.holds (
    org_id          uuid        not null,
    id              uuid        not null,
    professional_id uuid        not null,
    service_id      uuid        not null,
    start_at        timestamptz not null,
    end_at          timestamptz not null,
    created_at      timestamptz not null default now(),
    expires_at      timestamptz not null,
    primary key (org_id, id),
    foreign key (org_id, professional_id) references scheduling.professionals (org_id, id) on delete cascade,
    foreign key (org_id, service_id) references scheduling.services (org_id, id) on delete cascade,
    check (start_at < end_at),
    check (created_at < expires_at)
);
create index holds_busy on scheduling.holds (org_id, professional_id, start_at);
create index holds_expiry on scheduling.holds (expires_at);

-- Planned reminders: made anew when an appointment moves, dropped when it ends.
create table scheduling.reminders (
    org_id         uuid        not null,
    appointment_id uuid        not null,
    offset_minutes integer     not null check (offset_minutes between 10 and 20160),
    channel        text        not null check (channel in ('email', 'whatsapp')),
    due_at         timestamptz not null,
    sent_at        timestamptz,
    primary key (org_id, appointment_id, offset_minutes, channel, due_at),
    foreign key (org_id, appointment_id) references scheduling.appointments (org_id, id) on delete cascade
);
create index reminders_due on scheduling.reminders (due_at) where sent_at is null;

create table scheduling.waitlist (
    org_id          uuid        not null,
    id              uuid        not null,
    service_id      uuid        not null,
    professional_id uuid,       -- null: any
    client_id       uuid        not null,
    first_date      date        not null,
    last_date       date        not null,
    created_at      timestamptz not null default now(),
    offered_at      timestamptz,
    primary key (org_id, id),
    foreign key (org_id, service_id) references scheduling.services (org_id, id) on delete cascade,
    foreign key (org_id, professional_id) references scheduling.professionals (org_id, id) on delete cascade,
    foreign key (org_id, client_id) references scheduling.clients (org_id, id) on delete cascade,
    check (first_date <= last_date)
);
create index waitlist_open on scheduling.waitlist (org_id, service_id, first_date) where offered_at is null;
