-- name: InsertContactList :one
insert into messaging.contact_lists (company_id, name, created_at, updated_at) values ($1, $2, $3, $3) returning *;

-- name: ContactList :one
select * from messaging.contact_lists where company_id = $1 and id = $2;

-- name: LockContactList :one
select * from messaging.contact_lists where company_id = $1 and id = $2 for no key update;

-- name: ContactListCount :one
select count(*) from messaging.contact_lists where company_id = sqlc.arg(company_id) and strpos(messaging.search_form(name), messaging.search_form(sqlc.arg(search)::text)) > 0;

-- name: ContactListsPage :many
select * from messaging.contact_lists where company_id = sqlc.arg(company_id) and strpos(messaging.search_form(name), messaging.search_form(sqlc.arg(search)::text)) > 0
order by lower(name), id offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: ContactListSizes :many
select list_id, count(*) as size from messaging.contact_list_items where company_id = sqlc.arg(company_id) and list_id = any(sqlc.arg(lists)::bigint[]) group by list_id;

-- name: ContactIDsOfList :many
select contact_id from messaging.contact_list_items where company_id = $1 and list_id = $2 order by contact_id;

-- name: UpdateContactList :one
update messaging.contact_lists set name = $3, updated_at = $4 where company_id = $1 and id = $2 returning *;

-- name: DeleteContactList :execrows
delete from messaging.contact_lists where company_id = $1 and id = $2;

-- name: DeleteContactListItems :exec
delete from messaging.contact_list_items where company_id = $1 and list_id = $2;

-- name: CountContacts :one
select count(*) from messaging.contacts where company_id = sqlc.arg(company_id) and id = any(sqlc.arg(contacts)::bigint[]);

-- name: InsertContactListItems :exec
-- Contacts of other companies are left out.
insert into messaging.contact_list_items (company_id, list_id, contact_id)
select c.company_id, sqlc.arg(list_id), c.id from messaging.contacts c where c.company_id = sqlc.arg(company_id) and c.id = any(sqlc.arg(contacts)::bigint[])
on conflict do nothing;
