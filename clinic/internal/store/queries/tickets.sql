-- name: UpsertTicket :exec
insert into clinic.tickets (clinic_id, env, source, ticket_id, patient_id) values ($1, $2, $3, $4, $5)
on conflict (clinic_id, env, source, ticket_id) do update set patient_id = excluded.patient_id;

-- name: DeleteTickets :many
delete from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning source, ticket_id;

-- name: TicketIDs :many
select ticket_id from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by ticket_id desc limit 200;
