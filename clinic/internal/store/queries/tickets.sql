-- name: UpsertTicket :exec
insert into clinic.tickets (clinic_id, env, source, ticket_id, patient_id) values ($1, $2, $3, $4, $5)
on conflict (clinic_id, env, source, ticket_id) do update set patient_id = excluded.patient_id;

-- name: DeleteTickets :many
delete from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning source, ticket_id;

-- name: TicketIDs :many
select ticket_id from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by ticket_id desc limit 200;

-- name: RenameTicket :exec
-- To a masked id that no ticket has yet.
update clinic.tickets t set ticket_id = @masked_id where t.clinic_id = @clinic_id and t.env = @env and t.source = @source and t.ticket_id = @ticket_id
and not exists (select from clinic.tickets o where o.clinic_id = t.clinic_id and o.env = t.env and o.source = t.source and o.ticket_id = @masked_id);

-- name: TicketsOfPatient :many
select source, ticket_id from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by source, ticket_id;
