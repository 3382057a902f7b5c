-- Payments and loyalty. Money is integer cents; ledgers only grow.
-- +goose Up
create table scheduling.payments (
    org_id         uuid        not null,
    id             uuid        not null,
    appointment_id uuid,
    client_id      uuid        not null,
    amount_cents   bigint      not null check (amount_cents between 1 and 9999999999),
    method         text        not null check (method in ('pix', 'cash', 'credit_card', 'debit_card')),
    description    text        not null default '' check (char_length(description) <= 200),
    status         text        not null check (status in ('pending', 'paid', 'expired', 'cancelled', 'refunded', 'failed')),
    kind           text        not null default 'full' check (kind in ('full', 'deposit', 'other')),
    paid_at        timestamptz,
    refunded_cents bigint      not null default 0,
    source_id      text,       -- of a connected product, which may tell twice
    created_by     uuid,
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    primary key (org_id, id),
    foreign key (org_id, appointment_id) references scheduling.appointments (org_id, id),
    foreign key (org_id, client_id) references scheduling.clients (org_id, id),
    foreign key (org_id, created_by) references scheduling.users (org_id, id) on delete set null (created_by),
    constraint payments_paid check ((status in ('paid', 'refunded')) = (paid_at is not null)),
    constraint payments_refunded check (
        refunded_cents between 0 and amount_cents
        and (refunded_cents = 0 or status in ('paid', 'refunded'))
        and (status = 'refunded') = (refunded_cents = amount_cents))
);
create index payments_paid_at on scheduling.payments (org_id, paid_at) where paid_at is not null;
create index payments_created_at on scheduling.payments (org_id, created_at);
create index payments_client on scheduling.payments (org_id, client_id, created_at);
create index payments_appointment on scheduling.payments (org_id, appointment_id) where appointment_id is not null;
create unique index payments_source on scheduling.payments (org_id, source_id) where source_id is not null;
-- A second charge for the same thing is the first one.
create unique index payments_one_open_charge on scheduling.payments (org_id, appointment_id, kind, amount_cents)
    where status = 'pending' and method = 'pix' and appointment_id is not null;

-- What a payment provider was asked to collect, for one payment.
create table scheduling.charges (
    org_id              uuid        not null,
    payment_id          uuid        not null,
    provider            text        not null,
    provider_payment_id text        not null,
    txid                text        not null,
    pix_copy_paste      text        not null, -- BR Code
    qr_code_url         text,
    expires_at          timestamptz not null,
    created_at          timestamptz not null default now(),
    primary key (org_id, payment_id),
    foreign key (org_id, payment_id) references scheduling.payments (org_id, id),
    unique (provider, provider_payment_id)
);
create index charges_txid on scheduling.charges (provider, txid);
create index charges_expiry on scheduling.charges (expires_at);

-- Notices of payment providers, each once.
create table scheduling.provider_events (
    provider     text        not null,
    event_id     text        not null,
    body         bytea       not null check (octet_length(body) <= 262144),
    received_at  timestamptz not null default now(),
    due_at       timestamptz not null default now(), -- of the next attempt to settle it
    attempts     integer     not null default 0,
    processed_at timestamptz,
    primary key (provider, event_id)
);
create index provider_events_due on scheduling.provider_events (due_at) where processed_at is null;

create table scheduling.loyalty_programs (
    org_id                 uuid        primary key references scheduling.organizations (id) on delete cascade,
    enabled                boolean     not null default false,
    program_name           text        not null default '',
    accrual_type           text        not null default 'spend' check (accrual_type in ('spend', 'visit')),
    points_per_hundred     bigint      not null default 100 check (points_per_hundred between 0 and 100000000), -- for 100 units of currency
    points_per_visit       bigint      not null default 0 check (points_per_visit between 0 and 1000000),
    min_spend_cents        bigint      not null default 0 check (min_spend_cents between 0 and 9999999999),
    rounding               text        not null default 'floor' check (rounding in ('floor', 'round', 'ceil')),
    signup_bonus           bigint      not null default 0 check (signup_bonus between 0 and 1000000),
    birthday_bonus         bigint      not null default 0 check (birthday_bonus between 0 and 1000000),
    points_expiration_days integer     check (points_expiration_days between 1 and 3650),
    eligible_service_ids   uuid[],     -- null: all
    term_one               text        not null default '',
    term_other             text        not null default '',
    updated_at             timestamptz not null default now()
);

create table scheduling.loyalty_rewards (
    org_id     uuid        not null references scheduling.organizations (id) on delete cascade,
    id         uuid        not null,
    name       text        not null check (char_length(name) between 1 and 120),
    points     bigint      not null check (points between 1 and 1000000),
    type       text        not null check (type in ('fixed_discount', 'percent_discount', 'free_service')),
    value      bigint      not null default 0, -- cents, or hundredths of a percent
    service_id uuid,
    is_active  boolean     not null default true,
    position   integer     not null default 0,
    deleted_at timestamptz,
    primary key (org_id, id),
    foreign key (org_id, service_id) references scheduling.services (org_id, id),
    constraint loyalty_rewards_value check (
        case type when 'fixed_discount' then value between 1 and 9999999999
                  when 'percent_discount' then value between 1 and 10000
                  else true end)
);

-- Points given and taken. What happened once counts once: source names it, e.g.
-- the payment's id.
create table scheduling.loyalty_entries (
    org_id         uuid        not null,
    id             uuid        not null, -- UUIDv7
    client_id      uuid        not null,
    type           text        not null check (type in ('earn', 'redeem', 'adjust', 'expire', 'reverse', 'bonus')),
    points         bigint      not null check (points <> 0),
    balance_after  bigint      not null check (balance_after >= 0),
    source         text        not null,
    appointment_id uuid,
    payment_id     uuid,
    reward_id      uuid,
    description    text        not null default '',
    created_at     timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, type, source),
    foreign key (org_id, client_id) references scheduling.clients (org_id, id),
    foreign key (org_id, appointment_id) references scheduling.appointments (org_id, id),
    foreign key (org_id, payment_id) references scheduling.payments (org_id, id),
    foreign key (org_id, reward_id) references scheduling.loyalty_rewards (org_id, id),
    constraint loyalty_entries_sign check (
        case when type in ('earn', 'bonus') then points > 0
             when type in ('redeem', 'expire') then points < 0
             else true end)
);
create index loyalty_entries_client on scheduling.loyalty_entries (org_id, client_id, id);

-- +goose StatementBegin
create function scheduling.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'HB002';
end $$;
-- +goose StatementEnd
create trigger append_only before update or delete on scheduling.loyalty_entries
    for each statement execute function scheduling.refuse_change();
