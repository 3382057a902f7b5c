-- name: CreateWaitlistEntry :exec
insert into scheduling.waitlist (org_id, id, service_id, professional_id, client_id, first_date, last_date, created_at, contact_name, contact_email)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: FindWaitlistEntry :one
select id from scheduling.waitlist where org_id = @org_id and service_id = @service_id and client_id = @client_id
and professional_id is not distinct from sqlc.narg('professional_id') and first_date = @first_date and last_date = @last_date and offered_at is null
and contact_email = @contact_email;

-- name: CountWaitlistEntries :one
select count(*)::int from scheduling.waitlist where org_id = $1 and client_id = $2 and offered_at is null;

-- name: MatchingWaitlistEntries :many
select w.* from scheduling.waitlist w where w.org_id = @org_id and w.offered_at is null and @date::date between w.first_date and w.last_date
and (w.professional_id is null or w.professional_id = @professional_id)
and exists (select from scheduling.professional_services s where s.org_id = w.org_id and s.professional_id = @professional_id and s.service_id = w.service_id)
and (w.created_at, w.id) > (@after_created_at::timestamptz, @after_id::uuid)
order by w.created_at, w.id limit 50;

-- name: FreedTimeWasOffered :one
select exists (select from scheduling.waitlist where org_id = @org_id and offer_id = @offer_id::uuid);

-- name: SetWaitlistOfferID :exec
update scheduling.waitlist set offer_id = @offer_id::uuid where org_id = @org_id and id = @id;

-- name: SetWaitlistOffered :execrows
update scheduling.waitlist set offered_at = @now::timestamptz where org_id = @org_id and id = @id and offered_at is null;

-- name: DeletePastWaitlistEntries :execrows
delete from scheduling.waitlist where last_date < @before::date;
