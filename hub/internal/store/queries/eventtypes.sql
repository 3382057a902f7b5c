-- name: ListEventTypes :many
-- An empty schema or example is none, or was not asked for.
select id, product, name, description, deprecated, created_at, updated_at,
    coalesce(case when not sqlc.arg(brief)::bool then schema end, '')::text as schema,
    coalesce(case when not sqlc.arg(brief)::bool then example end, '')::text as example,
    (schema is not null)::bool as has_schema, (example is not null)::bool as has_example
from hub.event_types
where (sqlc.narg(product)::text is null or product = sqlc.narg(product))
  and (not sqlc.arg(with_example)::bool or example is not null)
  and (product, name) > (sqlc.arg(after_product)::text, sqlc.arg(after_name)::text)
order by product, name limit sqlc.arg(row_limit);

-- name: EventTypeByID :one
select * from hub.event_types where id = $1;

-- name: EventTypeByName :one
select * from hub.event_types where product = $1 and name = $2;

-- name: EventTypeForUpdate :one
select * from hub.event_types where id = $1 for update;

-- name: CreateEventType :one
insert into hub.event_types (id, product, name, description, schema, example, deprecated)
values (sqlc.arg(id), sqlc.arg(product), sqlc.arg(name), sqlc.arg(description), sqlc.narg(schema), sqlc.narg(example), sqlc.arg(deprecated)) returning *;

-- name: UpdateEventType :one
update hub.event_types set description = sqlc.arg(description), schema = sqlc.narg(schema), example = sqlc.narg(example),
    deprecated = sqlc.arg(deprecated), updated_at = now()
where id = sqlc.arg(id) returning *;

-- name: DeleteEventType :one
delete from hub.event_types where id = $1 returning *;

-- name: MeasureEventTypes :one
-- How many types a product has, and their bytes.
select count(*) as types, coalesce(sum(coalesce(octet_length(schema), 0) + coalesce(octet_length(example), 0)), 0)::bigint as bytes
from hub.event_types where product = $1;

-- name: EventSchemas :many
select name, schema::text as schema from hub.event_types where product = $1 and schema is not null;

-- name: UpdateProduct :one
update hub.products set title = sqlc.arg(title), validation = sqlc.arg(validation) where name = sqlc.arg(name) returning *;
