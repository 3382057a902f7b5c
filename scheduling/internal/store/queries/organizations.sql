-- name: CreateOrganization :exec
insert into scheduling.organizations (id, name, slug, phone) values ($1, $2, $3, $4);

-- name: CreateSettings :exec
insert into scheduling.settings (org_id, notify_emails) values ($1, $2);

-- name: IsSlugReserved :one
select exists(select from scheduling.old_slugs where slug = @slug and redirects_until > @now::timestamptz and org_id <> @org_id) as kept;

-- name: OrganizationByID :one
select sqlc.embed(o), sqlc.embed(s) from scheduling.organizations o
join scheduling.settings s on s.org_id = o.id where o.id = $1;

-- name: LockOrganization :one
select sqlc.embed(o), sqlc.embed(s) from scheduling.organizations o
join scheduling.settings s on s.org_id = o.id where o.id = $1 for update;

-- name: OrganizationBySlug :one
select sqlc.embed(o), sqlc.embed(s) from scheduling.organizations o
join scheduling.settings s on s.org_id = o.id
where o.slug = @slug or o.id = (select k.org_id from scheduling.old_slugs k where k.slug = @slug and k.redirects_until > @now::timestamptz)
order by (o.slug = @slug) desc limit 1;

-- name: OrganizationByService :one
select sqlc.embed(o), sqlc.embed(s) from scheduling.services v
join scheduling.organizations o on o.id = v.org_id join scheduling.settings s on s.org_id = o.id
where v.id = $1 and v.deleted_at is null;

-- name: UpdateOrganization :exec
update scheduling.organizations set name = $2, slug = $3, phone = $4, email = $5, address = $6, timezone = $7,
    currency = $8, locale = $9, updated_at = $10 where id = $1;

-- name: SetLogo :exec
update scheduling.organizations set logo_key = $2, updated_at = $3 where id = $1;

-- name: UpdateSettings :exec
update scheduling.settings set booking_enabled = $2, booking_disabled_message = $3, auto_confirm = $4, slot_interval_minutes = $5,
    min_notice_minutes = $6, max_advance_days = $7, cancel_notice_minutes = $8, reschedule_notice_minutes = $9,
    allow_client_cancel = $10, allow_client_reschedule = $11, buffer_before_minutes = $12, buffer_after_minutes = $13,
    max_bookings_per_day = $14, max_active_bookings_per_client = $15, allow_any_professional = $16,
    require_client_phone = $17, require_client_email = $18, reminders_enabled = $19, reminder_offsets_minutes = $20,
    reminder_channels = $21, deposit_hold_minutes = $22, deposit_refund_notice_minutes = $23, inactive_after_days = $24,
    waitlist_enabled = $25, week_start = $26, time_format = $27, booking_page = $28, notify_emails = $29, updated_at = $30,
    proof_of_work = $31, remarketing_period_days = $32, remarketing_message = $33,
    default_area_code = $34
where org_id = $1;

-- name: StoreOldSlug :exec
insert into scheduling.old_slugs (slug, org_id, redirects_until) values ($1, $2, $3)
on conflict (slug) do update set org_id = excluded.org_id, redirects_until = excluded.redirects_until;

-- name: DeleteOldSlug :exec
delete from scheduling.old_slugs where slug = $1;

-- name: DeleteExpiredSlugs :execrows
delete from scheduling.old_slugs where redirects_until < @before::timestamptz;

-- name: PicturesOf :many
-- Names of the files of an organization.
select o.logo_key::text as name from scheduling.organizations o where o.id = @org_id and o.logo_key is not null
union all select p.avatar_key::text from scheduling.professionals p where p.org_id = @org_id and p.avatar_key is not null
union all select s.image_key::text from scheduling.services s where s.org_id = @org_id and s.image_key is not null;
