-- name: InsertTag :one
insert into messaging.tags (company_id, name, color, kanban, created_at, updated_at) values ($1, $2, $3, $4, $5, $5) returning *;

-- name: Tag :one
select * from messaging.tags where company_id = $1 and id = $2;

-- name: LockTag :one
select * from messaging.tags where company_id = $1 and id = $2 for no key update;

-- name: TagCount :one
select count(*) from messaging.tags where company_id = sqlc.arg(company_id) and strpos(messaging.search_form(name), messaging.search_form(sqlc.arg(search)::text)) > 0;

-- name: TagsPage :many
select * from messaging.tags where company_id = sqlc.arg(company_id) and strpos(messaging.search_form(name), messaging.search_form(sqlc.arg(search)::text)) > 0
order by lower(name), id offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: UpdateTag :one
update messaging.tags set name = $3, color = $4, kanban = $5, updated_at = $6 where company_id = $1 and id = $2 returning *;

-- name: DeleteTag :execrows
delete from messaging.tags where company_id = $1 and id = $2;

-- name: DeleteContactTags :exec
delete from messaging.contact_tags where company_id = $1 and contact_id = $2;

-- name: InsertContactTags :execrows
-- Tags of other companies are left out: the caller compares the number.
insert into messaging.contact_tags (company_id, contact_id, tag_id)
select t.company_id, sqlc.arg(contact_id), t.id from messaging.tags t where t.company_id = sqlc.arg(company_id) and t.id = any(sqlc.arg(tags)::bigint[]);

-- name: TagsOfContacts :many
select ct.contact_id, t.id, t.name, t.color from messaging.contact_tags ct join messaging.tags t on t.company_id = ct.company_id and t.id = ct.tag_id
where ct.company_id = sqlc.arg(company_id) and ct.contact_id = any(sqlc.arg(contacts)::bigint[]) order by lower(t.name), t.id;

-- name: DeleteTicketTags :exec
delete from messaging.ticket_tags where company_id = $1 and ticket_id = $2;

-- name: InsertTicketTags :execrows
-- Tags of other companies are left out: the caller compares the number.
insert into messaging.ticket_tags (company_id, ticket_id, tag_id)
select t.company_id, sqlc.arg(ticket_id), t.id from messaging.tags t where t.company_id = sqlc.arg(company_id) and t.id = any(sqlc.arg(tags)::bigint[]);

-- name: TagsOfTickets :many
select tt.ticket_id, t.id, t.name, t.color from messaging.ticket_tags tt join messaging.tags t on t.company_id = tt.company_id and t.id = tt.tag_id
where tt.company_id = sqlc.arg(company_id) and tt.ticket_id = any(sqlc.arg(tickets)::bigint[]) order by lower(t.name), t.id;
