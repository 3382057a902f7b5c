-- name: CreateAppointment :exec
insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source,
    source_id, notes, confirmed_at, deposit_status, deposit_cents, hold_until, capacity, seat, overbooked, created_by, created_at, updated_at,
    contact_name, contact_email, locale, source_hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $21, $22, $23, $24, $25);

-- name: AppointmentByID :one
select * from scheduling.appointment_details where org_id = $1 and id = $2;

-- name: AppointmentBySource :one
-- By one of the forms of a source_id.
select * from scheduling.appointment_details d where d.org_id = @org_id
and d.id = (select a.id from scheduling.appointments a where a.org_id = @org_id and a.source = 'integration' and a.source_id = any(@source_ids::text[]) limit 1);

-- name: SourceIDsOfClient :many
select id, source_id::text as source_id from scheduling.appointments where org_id = @org_id and client_id = @client_id and source_id is not null;

-- name: SetSourceID :exec
update scheduling.appointments set source_id = @source_id::text where org_id = @org_id and id = @id;

-- name: SourceHash :one
select source_hash from scheduling.appointments where org_id = $1 and id = $2;

-- name: LockAppointment :one
select * from scheduling.appointments where org_id = $1 and id = $2 for no key update;

-- name: ListAppointments :many
select * from scheduling.appointment_details where org_id = @org_id
and (sqlc.narg('since')::timestamptz is null or start_at >= sqlc.narg('since'))
and (sqlc.narg('until')::timestamptz is null or start_at < sqlc.narg('until'))
and (cardinality(@statuses::text[]) = 0 or status = any(@statuses::text[]))
and (sqlc.narg('professional_id')::uuid is null or professional_id = sqlc.narg('professional_id'))
and (sqlc.narg('client_id')::uuid is null or client_id = sqlc.narg('client_id'))
order by case when @descending::bool then start_at end desc, start_at, id
limit @row_limit::int offset @row_offset::int;

-- name: FeedAppointments :many
-- What comes is first, the nearest before others; then what was, the latest before others.
select * from scheduling.appointment_details where org_id = @org_id and professional_id = @professional_id
and start_at >= @since::timestamptz and start_at < @until::timestamptz
and (status <> 'cancelled' or cancelled_at >= @cancelled_since::timestamptz)
order by start_at < @now::timestamptz, case when start_at >= @now then start_at end, start_at desc, id
limit @row_limit::int;

-- name: CountAppointments :one
select count(*)::int from scheduling.appointments where org_id = @org_id
and (sqlc.narg('since')::timestamptz is null or start_at >= sqlc.narg('since'))
and (sqlc.narg('until')::timestamptz is null or start_at < sqlc.narg('until'))
and (cardinality(@statuses::text[]) = 0 or status = any(@statuses::text[]))
and (sqlc.narg('professional_id')::uuid is null or professional_id = sqlc.narg('professional_id'))
and (sqlc.narg('client_id')::uuid is null or client_id = sqlc.narg('client_id'));

-- name: AppointmentsOfClients :many
select * from scheduling.appointment_details where org_id = @org_id and client_id = any(@client_ids::uuid[])
and (cardinality(@statuses::text[]) = 0 or status = any(@statuses::text[]))
order by start_at desc, id limit @row_limit::int;

-- name: OverlappingAppointments :many
select * from scheduling.appointment_details where org_id = @org_id and professional_id = @professional_id
and status in ('scheduled', 'confirmed') and start_at < @until::timestamptz and end_at > @since::timestamptz order by start_at, id limit 200;

-- name: CountActiveBookings :one
select count(*)::int from scheduling.appointments where org_id = $1 and client_id = $2 and status in ('scheduled', 'confirmed') and end_at > @now::timestamptz;

-- name: AppointmentRecipient :one
-- The recipient of an appointment's e-mails and the address; '' for none.
select coalesce(a.contact_name, c.name)::text as name, coalesce(a.contact_email, c.email, '')::text as email
from scheduling.appointments a join scheduling.clients c on c.org_id = a.org_id and c.id = a.client_id
where a.org_id = @org_id and a.id = @id;

-- name: UpdateAppointmentStatus :execrows
-- A pending deposit of a confirmed appointment is left to staff, also where its client moves
-- the appointment and it has to be confirmed again.
update scheduling.appointments set status = @status, version = version + 1, updated_at = @now,
    confirmed_at = case when @status = 'confirmed' then coalesce(confirmed_at, @now) else confirmed_at end,
    completed_at = case when @status = 'completed' then @now end,
    no_show_at = case when @status = 'no_show' then @now end,
    cancelled_at = case when @status = 'cancelled' then @now end,
    cancelled_by = case when @status = 'cancelled' then sqlc.narg('cancelled_by')::text end,
    cancel_reason = case when @status = 'cancelled' then sqlc.narg('cancel_reason')::text else cancel_reason end,
    deposit_status = @deposit_status,
    deposit_left_to_staff = deposit_left_to_staff or @status = 'confirmed' and @deposit_status = 'pending',
    hold_until = case when @status = 'confirmed' and @deposit_status = 'pending' then greatest(hold_until, start_at) else hold_until end,
    ics_sequence = ics_sequence + case when @status = 'cancelled' then 1 else 0 end
where org_id = @org_id and id = @id and status = any(@expected::text[]);

-- name: RescheduleAppointment :exec
-- A deposit that is due is never more than the price. One that is left to staff stays so; that
-- of a confirmed appointment was left to them by who confirmed it.
update scheduling.appointments set professional_id = @professional_id, service_id = @service_id, start_at = @start_at, end_at = @end_at,
    price_cents = @price_cents, capacity = @capacity, seat = @seat, overbooked = @overbooked, status = @status,
    deposit_cents = case when deposit_status = 'pending' then nullif(least(deposit_cents, @price_cents), 0) else deposit_cents end,
    deposit_status = case when deposit_status = 'pending' and @price_cents = 0 then 'none' else deposit_status end,
    deposit_left_to_staff = deposit_left_to_staff or deposit_status = 'pending' and (status = 'confirmed' or start_at <= @now),
    hold_until = case when deposit_left_to_staff or deposit_status = 'pending' and (status = 'confirmed' or start_at <= @now)
        then greatest(hold_until, @start_at) else hold_until end,
    confirmed_at = case when @status = 'scheduled' then null else confirmed_at end,
    rescheduled_count = rescheduled_count + 1, original_start_at = coalesce(original_start_at, start_at),
    ics_sequence = ics_sequence + 1, version = version + 1, updated_at = @now
where org_id = @org_id and id = @id;

-- name: EditAppointment :exec
-- A deposit that is due is never more than the price. A link is its client's.
update scheduling.appointments set client_id = @client_id, notes = @notes,
    contact_name = case when client_id = @client_id then contact_name end, contact_email = case when client_id = @client_id then contact_email end,
    locale = case when client_id = @client_id then locale end,
    token_version = token_version + case when client_id = @client_id then 0 else 1 end,
    price_cents = @price_cents,
    deposit_cents = case when deposit_status = 'pending' then nullif(least(deposit_cents, @price_cents), 0) else deposit_cents end,
    deposit_status = case when deposit_status = 'pending' and @price_cents = 0 then 'none' else deposit_status end,
    version = version + 1, updated_at = @now
where org_id = @org_id and id = @id;

-- name: SetAppointmentSeat :exec
update scheduling.appointments set seat = @seat, capacity = @capacity where org_id = @org_id and id = @id;

-- name: RestoreAppointment :exec
update scheduling.appointments set status = @status, deposit_status = 'paid', seat = @seat, capacity = @capacity, overbooked = false,
    cancelled_at = null, cancelled_by = null, cancel_reason = null,
    confirmed_at = case when @status = 'confirmed' then coalesce(confirmed_at, @now::timestamptz) else confirmed_at end,
    ics_sequence = ics_sequence + 1, version = version + 1, updated_at = @now where org_id = @org_id and id = @id;

-- name: ComputePaidAmount :one
-- Computed from the payments, never adjusted: a wrong amount heals. The appointment is locked,
-- and the payment is written before. Kind 'other' is beside the price.
update scheduling.appointments a set version = a.version + 1, updated_at = @now, paid_cents = (
    select coalesce(sum(p.amount_cents - p.refunded_cents), 0) from scheduling.payments p
    where p.org_id = a.org_id and p.appointment_id = a.id and p.kind <> 'other' and p.paid_at is not null)
where a.org_id = @org_id and a.id = @id returning a.paid_cents;

-- name: InsertHistoryEntry :exec
insert into scheduling.appointment_history (org_id, id, appointment_id, at, action, actor, user_id, from_status, to_status,
    from_start_at, to_start_at, from_professional_id, to_professional_id, reason,
    from_price_cents, to_price_cents, from_client_id, to_client_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18);

-- name: ListHistory :many
select h.*, u.name as user_name from scheduling.appointment_history h
left join scheduling.users u on u.org_id = h.org_id and u.id = h.user_id
where h.org_id = $1 and h.appointment_id = $2 order by h.id;
