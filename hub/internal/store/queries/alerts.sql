-- name: CreateAlert :one
insert into hub.alerts (id, kind, target, events, product, tenant_id, enabled)
values ($1, $2, $3, $4, sqlc.narg(product), sqlc.narg(tenant_id), sqlc.arg(enabled)) returning *;

-- name: CountAlerts :one
select count(*) from hub.alerts;

-- name: AlertByID :one
select sqlc.embed(a), e.disabled_reason from hub.alerts a left join hub.endpoints e on e.id = a.id where a.id = $1;

-- name: ListAlerts :many
select sqlc.embed(a), e.disabled_reason from hub.alerts a left join hub.endpoints e on e.id = a.id
where (sqlc.narg(before)::uuid is null or a.id < sqlc.narg(before)::uuid)
order by a.id desc limit sqlc.arg(row_limit);

-- name: UpdateAlert :one
update hub.alerts set target = sqlc.arg(target), events = sqlc.arg(events), product = sqlc.narg(product), tenant_id = sqlc.narg(tenant_id),
    enabled = sqlc.arg(enabled), updated_at = now()
where id = sqlc.arg(id) returning *;

-- name: DeleteAlertNotices :exec
delete from hub.alert_notices where alert_id = $1;

-- name: DeleteAlert :execrows
delete from hub.alerts where id = $1;

-- name: EnabledAlerts :many
select a.* from hub.alerts a left join hub.endpoints e on e.id = a.id
where a.enabled and (a.kind = 'email' or e.enabled and e.deleted_at is null) order by a.id;
