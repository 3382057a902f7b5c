-- name: LockAdvisoryKeys :exec
-- Until the transaction ends nobody else has the same names; they are given in order.
select pg_advisory_xact_lock(hashtextextended(name, 7240913)) from unnest(@names::text[]) name;

-- name: LockProfessionalTime :exec
select scheduling.lock_professional(@professional_id::uuid);
