-- What can be booked, with whom and when. Money is integer cents, times of day
-- are minutes after midnight in the organization's zone. Services and
-- professionals that are deleted stay, for the appointments that name them.
-- +goose Up
create table scheduling.services (
    org_id                uuid        not null references scheduling.organizations (id) on delete cascade,
    id                    uuid        not null,
    name                  text        not null check (char_length(name) between 1 and 120),
    description           text        not null default '' check (char_length(description) <= 2000),
    duration_minutes      integer     not null check (duration_minutes between 5 and 1440),
    price_cents           bigint      not null default 0 check (price_cents between 0 and 9999999999),
    color                 text        not null default '#3B82F6' check (color ~ '^#[0-9A-Fa-f]{6}$'),
    requires_deposit      boolean     not null default false,
    deposit_cents         bigint,
    category              text,
    capacity              smallint    not null default 1 check (capacity between 1 and 100), -- clients in one session
    slot_interval_minutes integer     check (slot_interval_minutes between 5 and 240), -- this and the buffers, null: as the organization
    buffer_before_minutes integer     check (buffer_before_minutes between 0 and 240),
    buffer_after_minutes  integer     check (buffer_after_minutes between 0 and 240),
    image_url             text,
    is_active             boolean     not null default true,
    is_public             boolean     not null default true,
    position              integer     not null default 0,
    created_at            timestamptz not null default now(),
    updated_at            timestamptz not null default now(),
    deleted_at            timestamptz,
    primary key (org_id, id),
    constraint services_deposit check (
        case when requires_deposit then deposit_cents is not null and deposit_cents > 0 and deposit_cents <= price_cents
             else deposit_cents is null end)
);
create index services_list on scheduling.services (org_id, position, id) where deleted_at is null;

create table scheduling.professionals (
    org_id                 uuid        not null references scheduling.organizations (id) on delete cascade,
    id                     uuid        not null,
    user_id                uuid,
    name                   text        not null check (char_length(name) between 1 and 120),
    email                  text,
    phone                  text,
    bio                    text        check (char_length(bio) <= 2000),
    specialty              text,
    avatar_url             text,
    color                  text        not null default '#3B82F6' check (color ~ '^#[0-9A-Fa-f]{6}$'),
    is_active              boolean     not null default true,
    accepts_online_booking boolean     not null default true,
    position               integer     not null default 0,
    max_bookings_per_day   integer     check (max_bookings_per_day between 1 and 200), -- null: as the organization
    feed_version           integer     not null default 1, -- rotating it ends the old address of the calendar feed
    created_at             timestamptz not null default now(),
    updated_at             timestamptz not null default now(),
    deleted_at             timestamptz,
    primary key (org_id, id),
    foreign key (org_id, user_id) references scheduling.users (org_id, id) on delete set null (user_id)
);
create index professionals_list on scheduling.professionals (org_id, position, id) where deleted_at is null;
create unique index professionals_user on scheduling.professionals (org_id, user_id) where deleted_at is null;

create table scheduling.professional_services (
    org_id                  uuid    not null,
    professional_id         uuid    not null,
    service_id              uuid    not null,
    custom_duration_minutes integer check (custom_duration_minutes between 5 and 1440),
    custom_price_cents      bigint  check (custom_price_cents between 0 and 9999999999),
    primary key (org_id, professional_id, service_id),
    foreign key (org_id, professional_id) references scheduling.professionals (org_id, id) on delete cascade,
    foreign key (org_id, service_id) references scheduling.services (org_id, id) on delete cascade
);
create index professional_services_service on scheduling.professional_services (org_id, service_id);

create table scheduling.schedule_rules (
    org_id             uuid        not null,
    id                 uuid        not null,
    professional_id    uuid        not null,
    day_of_week        smallint    not null check (day_of_week between 0 and 6), -- 0 = Monday
    start_minute       smallint    not null,
    end_minute         smallint    not null, -- 1439 (23:59) is the end of the day
    break_start_minute smallint,
    break_end_minute   smallint,
    is_active          boolean     not null default true,
    created_at         timestamptz not null default now(),
    updated_at         timestamptz not null default now(),
    primary key (org_id, id),
    foreign key (org_id, professional_id) references scheduling.professionals (org_id, id) on delete cascade,
    constraint schedule_rules_hours check (0 <= start_minute and start_minute < end_minute and end_minute <= 1439),
    constraint schedule_rules_break check (
        (break_start_minute is null) = (break_end_minute is null)
        and (break_start_minute is null
             or 0 <= break_start_minute and break_start_minute < break_end_minute and break_end_minute <= 1439))
);
create index schedule_rules_professional on scheduling.schedule_rules (org_id, professional_id, day_of_week);

create table scheduling.schedule_exceptions (
    org_id          uuid        not null,
    id              uuid        not null,
    professional_id uuid        not null,
    date            date        not null,
    exception_type  text        not null check (exception_type in ('block', 'extra')),
    start_minute    smallint,   -- null with end_minute: the whole day
    end_minute      smallint,
    reason          text        not null default '' check (char_length(reason) <= 200),
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    primary key (org_id, id),
    foreign key (org_id, professional_id) references scheduling.professionals (org_id, id) on delete cascade,
    constraint schedule_exceptions_hours check (
        (start_minute is null) = (end_minute is null)
        and (start_minute is null or 0 <= start_minute and start_minute < end_minute and end_minute <= 1439))
);
create index schedule_exceptions_date on scheduling.schedule_exceptions (org_id, date, professional_id);
create index schedule_exceptions_professional on scheduling.schedule_exceptions (org_id, professional_id, date);
