-- name: RecordAudit :exec
insert into hub.audit (id, actor_type, actor_id, actor_label, action, resource, resource_id, tenant_id, ip, request_id, status)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
