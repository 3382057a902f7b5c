-- Forgetting all of a patient: what they went by earlier, what is known of those who
-- were forgotten, and peers that people had to tell.
-- +goose Up
-- Names, numbers and addresses that a patient had before: payloads of then have them.
create table clinic.earlier_contacts (
    clinic_id  uuid        not null,
    env        text        not null,
    id         uuid        not null,
    patient_id uuid        not null,
    kind       text        not null check (kind in ('name', 'phone', 'email')),
    value_enc  bytea       not null, -- encrypted
    value_hmac bytea       not null, -- keyed hash: each is kept once
    created_at timestamptz not null default now(),
    primary key (clinic_id, env, id),
    unique (clinic_id, env, patient_id, kind, value_hmac),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id)
);

-- Keyed hashes of what those who were forgotten went by, and of their tickets: an
-- import does not make them anew, and news of them are not kept.
create table clinic.forgotten (
    clinic_id    uuid        not null references clinic.clinics (id) on delete cascade,
    env          text        not null check (env in ('live', 'test')),
    hash         bytea       not null,
    forgotten_at timestamptz not null default now(),
    primary key (clinic_id, env, hash)
);

alter table clinic.deletion_requests drop constraint deletion_requests_status_check;
alter table clinic.deletion_requests add constraint deletion_requests_status_check check (status in ('waiting', 'needs_attention', 'completed'));
create index deletion_requests_open on clinic.deletion_requests (requested_at, id) where status <> 'completed';
drop index clinic.deletion_requests_waiting;

alter table clinic.deletion_peers
    add column acknowledged_by uuid, -- user, who told the peer by other means; null: the peer took the event
    add column note            text; -- how
alter table clinic.deletion_peers add constraint deletion_peers_note check (char_length(note) <= 500);
alter table clinic.deletion_peers add foreign key (clinic_id, acknowledged_by) references clinic.users (clinic_id, id) on delete set null (acknowledged_by);

-- When what is told of an appointment was so, by the clock of whoever said it: older
-- news do not undo it. Null: before that was kept.
alter table clinic.appointments
    add column details_at timestamptz, -- when and what it is
    add column state_at   timestamptz; -- its status

-- Who named the source of an interaction: 'event' the hub, 'peer' an integration's own
-- key, 'key' a key of nobody's, which can say anything.
alter table clinic.interactions add column origin text not null default 'event';
