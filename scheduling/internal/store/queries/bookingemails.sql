-- name: CountBookingEmails :one
-- Of an address, in the hub and of the organization.
select count(*)::int as of_hub, count(*) filter (where org_id = @org_id)::int as of_org
from scheduling.booking_emails where recipient_hash = @recipient_hash and sent_at > @since::timestamptz;

-- name: InsertBookingEmail :exec
insert into scheduling.booking_emails (org_id, id, recipient_hash, sent_at) values ($1, $2, $3, $4);

-- name: DeleteOldBookingEmails :execrows
delete from scheduling.booking_emails where sent_at <= @before::timestamptz;

-- name: SetEmailsWithheld :exec
update scheduling.appointments set emails_withheld = @withheld where org_id = @org_id and id = @id and emails_withheld <> @withheld;
