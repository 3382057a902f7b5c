-- Public booking may ask for a proof of work; each counts once.
-- +goose Up
alter table scheduling.settings add column proof_of_work boolean not null default false;

create table scheduling.spent_proofs (
    org_id     uuid        not null references scheduling.organizations (id) on delete cascade,
    challenge  text        not null,
    expires_at timestamptz not null,
    primary key (org_id, challenge)
);
create index spent_proofs_expiry on scheduling.spent_proofs (expires_at);
