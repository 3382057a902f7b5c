-- name: InsertDeletionRequest :one
insert into clinic.deletion_requests (clinic_id, env, id, patient_id, event_id, requested_by, requested_at) values ($1, $2, $3, $4, $5, $6, $7) returning *;

-- name: DeletionRequest :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and id = $3;

-- name: DeletionRequestsPage :many
select * from clinic.deletion_requests
where clinic_id = @clinic_id and env = @env and (@status::text = '' or status = @status)
order by id desc limit @row_limit::int offset @row_offset::int;

-- name: CountDeletionRequests :one
select count(*)::int from (select 1 from clinic.deletion_requests
    where clinic_id = @clinic_id and env = @env and (@status::text = '' or status = @status) limit @max_count::int) n;

-- name: DeletionRequestByPatient :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: LockDeletionRequest :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: OpenDeletionRequests :many
-- Requests that wait for peers or need attention, the oldest first.
select * from clinic.deletion_requests where status <> 'completed' and requested_at > @since
and (requested_at > @after_at or requested_at = @after_at and id > @after_id) order by requested_at, id limit @row_limit::int;

-- name: UpdateDeletionStatus :one
update clinic.deletion_requests set status = $4, completed_at = $5 where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: InsertDeletionPeer :exec
insert into clinic.deletion_peers (clinic_id, env, request_id, product, integration_id) values ($1, $2, $3, $4, $5);

-- name: InsertDisconnectedPeer :exec
insert into clinic.deletion_peers (clinic_id, env, request_id, product, integration_id, status, disconnected_at)
values ($1, $2, $3, $4, $5, 'failed', @disconnected_at::timestamptz);

-- name: DeletionPeers :many
select * from clinic.deletion_peers where clinic_id = $1 and env = $2 and request_id = $3 order by product;

-- name: PeersOfDeletionRequests :many
select * from clinic.deletion_peers
where (clinic_id, env, request_id) in (select unnest(@clinics::uuid[]), unnest(@envs::text[]), unnest(@ids::uuid[])) order by product;

-- name: UpdateDeletionPeer :execrows
-- An acknowledgement is final.
update clinic.deletion_peers set status = $5, acknowledged_at = $6, acknowledged_by = $7, note = $8
where clinic_id = $1 and env = $2 and request_id = $3 and product = $4 and status <> 'acknowledged';
