-- What stays of clients who are forgotten has nothing of them, and bookings know whom
-- to tell.
-- +goose Up
-- The ledger only grows, but what was written beside an entry may be taken out: it may
-- name the client.
drop trigger append_only on scheduling.loyalty_entries;
create trigger append_only before delete on scheduling.loyalty_entries
    for each statement execute function scheduling.refuse_change();
create trigger append_only_rows before update on scheduling.loyalty_entries
    for each row when (new.description <> '' or to_jsonb(new) - 'description' <> to_jsonb(old) - 'description')
    execute function scheduling.refuse_change();

-- Who booked, as they presented themselves: several people may share a client's phone,
-- and what one of them is told is not the other's. contact_email is '' where nobody
-- is to be written to; both are null where the client itself is meant.
alter table scheduling.appointments
    add column contact_name  text,
    add column contact_email text;
alter table scheduling.waitlist
    add column contact_name  text,
    add column contact_email text;

-- Keyed hashes of the first and the last digits of the tax id, each number of them from
-- 1 to 10; null: not made yet.
alter table scheduling.clients add column cpf_parts bigint[];
