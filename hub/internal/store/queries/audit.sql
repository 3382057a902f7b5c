-- name: RecordAudit :exec
insert into hub.audit (id, actor_type, actor_id, actor_label, action, resource, resource_id, tenant_id, ip, request_id, status, environment, subject_id, changed)
values (@id, @actor_type, @actor_id, @actor_label, @action, @resource, @resource_id, @tenant_id, @ip, @request_id, @status, nullif(@environment::text, ''), @subject_id, @changed::text[]);
