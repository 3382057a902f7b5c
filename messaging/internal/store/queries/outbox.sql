-- name: InsertOutboxEntry :one
-- Leased at once where nothing of the same chat waits before it, and, for one that is not
-- urgent on a connection with an interval, where it is the connection's turn.
with line as (
  select send_interval_ms from messaging.connections where company_id = sqlc.arg(company_id) and id = sqlc.arg(connection_id)),
chat as (
  select exists (select from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and o.contact_id = sqlc.arg(contact_id)) as is_waiting),
turn as (
  insert into messaging.connection_paces as p (company_id, connection_id, next_send_at)
  select sqlc.arg(company_id), sqlc.arg(connection_id), coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) + line.send_interval_ms * interval '1 millisecond' from line, chat
  where not sqlc.arg(is_urgent)::boolean and line.send_interval_ms > 0 and not chat.is_waiting and not exists (
    select from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and not o.is_urgent and o.due_at <= sqlc.arg(at)::timestamptz
      and (select first.due_at from messaging.outbox first where first.company_id = o.company_id and first.connection_id = o.connection_id and first.contact_id = o.contact_id order by first.seq limit 1) <= sqlc.arg(at)::timestamptz)
  on conflict (company_id, connection_id) do update set next_send_at = excluded.next_send_at
    where p.next_send_at <= coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) or p.next_send_at > excluded.next_send_at
  returning p.next_send_at)
insert into messaging.outbox (company_id, message_id, connection_id, contact_id, is_urgent, due_at, leased_until, created_at, turn_until)
select sqlc.arg(company_id), sqlc.arg(message_id), sqlc.arg(connection_id), sqlc.arg(contact_id), sqlc.arg(is_urgent)::boolean, sqlc.arg(at)::timestamptz,
  case when chat.is_waiting or not sqlc.arg(is_urgent)::boolean and line.send_interval_ms > 0 and not exists (select from turn) then null else sqlc.arg(leased_until)::timestamptz end,
  sqlc.arg(at)::timestamptz, (select next_send_at from turn)
from line, chat
returning *;

-- name: InsertWaitingMessages :exec
-- Messages of programs that no process has leased, in their order.
insert into messaging.outbox (company_id, message_id, connection_id, contact_id, due_at, created_at)
select m.company_id, m.id, m.connection_id, m.contact_id, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz from messaging.messages m
where m.company_id = sqlc.arg(company_id) and m.id = any(sqlc.arg(messages)::text[]) order by m.seq;

-- name: MakeChatUrgent :exec
-- What waits in a chat before an urgent message is as urgent, and is tried again at once: the urgent
-- message waits for it. A pause that the network asked for stays.
update messaging.outbox set is_urgent = true, due_at = least(due_at, greatest(sqlc.arg(at)::timestamptz, paused_until))
where company_id = $1 and connection_id = $2 and contact_id = $3 and (not is_urgent or due_at > greatest(sqlc.arg(at)::timestamptz, paused_until));

-- name: CloseTicketOnceSent :exec
update messaging.outbox set closes_ticket = true where company_id = $1 and message_id = $2;

-- name: ConnectionsToSend :many
-- Connections with due messages, those of people first, then those that were not served for
-- the longest time. served has the connections that were, in this order. Messages of
-- connections that are not connected wait, until they are too old; what is not urgent waits
-- for the connection's turn.
select o.company_id, o.connection_id from messaging.outbox o join messaging.connections c on c.company_id = o.company_id and c.id = o.connection_id
left join messaging.connection_paces p on p.company_id = c.company_id and p.connection_id = c.id
where o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
  and (o.is_urgent or c.send_interval_ms = 0 or p.next_send_at is null or p.next_send_at <= coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp())
    or p.next_send_at > coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) + c.send_interval_ms * interval '1 millisecond')
  and (c.status = 'CONNECTED' or o.created_at <= sqlc.arg(expired)::timestamptz) and not o.connection_id = any(sqlc.arg(excluded)::bigint[])
  and not o.company_id = any(sqlc.arg(suspended)::bigint[])
group by o.company_id, o.connection_id order by bool_or(o.is_urgent) desc, coalesce(array_position(sqlc.arg(served)::bigint[], o.connection_id), 0), min(o.due_at), o.connection_id limit sqlc.arg(max_rows)::int;

-- name: ClaimOutbox :many
-- The oldest due messages of a connection whose chat has none waiting before them; urgent
-- ones first. Materialized, and the first of a chat by its index: statistics of the outbox are
-- never those of its next backlog.
with next as materialized (
  select o.message_id from messaging.outbox o
  where o.company_id = sqlc.arg(company_id)::bigint and o.connection_id = sqlc.arg(connection_id)::bigint and (o.is_urgent or not sqlc.arg(only_urgent)::boolean)
    and o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
    and (o.created_at <= sqlc.arg(expired)::timestamptz or exists (select from messaging.connections c where c.company_id = o.company_id and c.id = o.connection_id and c.status = 'CONNECTED'))
    and o.seq = (select min(first.seq) from messaging.outbox first where first.company_id = o.company_id and first.connection_id = o.connection_id and first.contact_id = o.contact_id)
  order by o.is_urgent desc, o.due_at, o.seq limit sqlc.arg(max_rows)::int for update skip locked)
update messaging.outbox u set leased_until = sqlc.arg(until)::timestamptz, attempts = u.attempts + 1, turn_until = sqlc.narg(turn_until)::timestamptz
from next where u.company_id = sqlc.arg(company_id)::bigint and u.message_id = next.message_id
returning u.*;

-- name: ReservePaceTurn :one
-- Takes the turn of a connection whose interval has passed. A turn that is farther away than
-- the interval is none: the interval was longer, or the clock was set back. No row means that it
-- is not the connection's turn.
insert into messaging.connection_paces as p (company_id, connection_id, next_send_at)
select c.company_id, c.id, coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) + c.send_interval_ms * interval '1 millisecond'
from messaging.connections c where c.company_id = sqlc.arg(company_id) and c.id = sqlc.arg(connection_id)
on conflict (company_id, connection_id) do update set next_send_at = excluded.next_send_at
  where p.next_send_at <= coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) or p.next_send_at > excluded.next_send_at
returning p.next_send_at;

-- name: ReturnPaceTurn :exec
-- The message that took the turn was not handed to the network. A later turn stays.
update messaging.connection_paces set next_send_at = coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp())
where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id) and next_send_at = sqlc.arg(turn_until)::timestamptz;

-- name: PaceOfConnection :one
-- When a connection may send its next message of a program, in how many milliseconds that is,
-- and whether some wait for it. A chat waits only if its first message is due.
select p.next_send_at, (extract(epoch from p.next_send_at - coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp())) * 1000)::float8 as milliseconds,
  exists (select from messaging.outbox o where o.company_id = p.company_id and o.connection_id = p.connection_id and not o.is_urgent
  and o.due_at <= sqlc.arg(at)::timestamptz
  and (select first.due_at from messaging.outbox first where first.company_id = o.company_id and first.connection_id = o.connection_id and first.contact_id = o.contact_id order by first.seq limit 1) <= sqlc.arg(at)::timestamptz)::boolean as is_busy
from messaging.connection_paces p where p.company_id = sqlc.arg(company_id) and p.connection_id = sqlc.arg(connection_id);

-- name: DeleteOutboxEntry :one
-- The caller settles the message: nothing else sends it any more.
delete from messaging.outbox where company_id = $1 and message_id = $2 returning closes_ticket;

-- name: DeleteAwaitedMessage :one
-- A receipt settles the message, in the outbox or after that: does it close its ticket?
with waiting as (
  delete from messaging.outbox o where o.company_id = sqlc.arg(company_id)::bigint and o.message_id = sqlc.arg(message_id)::text returning o.closes_ticket),
unclear as (
  delete from messaging.unclear_messages u where u.company_id = sqlc.arg(company_id)::bigint and u.message_id = sqlc.arg(message_id)::text returning u.closes_ticket)
select (exists (select from waiting where closes_ticket) or exists (select from unclear where closes_ticket))::boolean as closes_ticket;

-- name: FailOutboxEntry :exec
-- A message that the network has not accepted, and never will.
with removed as (delete from messaging.outbox o where o.company_id = sqlc.arg(company_id)::bigint and o.message_id = sqlc.arg(message_id)::text returning o.message_id)
select messaging.settle_unsent(sqlc.arg(company_id)::bigint, array_agg(r.message_id), '{}', sqlc.arg(code)::text, sqlc.arg(at)::timestamptz) from removed r having count(*) > 0;

-- name: FailOutboxOfConnection :exec
-- The transaction has locked the connection, so that no message is added. What a process has
-- leased and not begun to send, it does not send any more: it cannot mark it.
with removed as (
  delete from messaging.outbox o where o.company_id = sqlc.arg(company_id)::bigint and o.connection_id = sqlc.arg(connection_id)::bigint
  returning o.message_id, o.handed_at is null as is_idle)
select messaging.settle_unsent(sqlc.arg(company_id)::bigint, array_agg(r.message_id), array_agg(r.message_id) filter (where r.is_idle), sqlc.arg(code)::text, sqlc.arg(at)::timestamptz)
from removed r having count(*) > 0;

-- name: FailOutboxOfContact :exec
with removed as (delete from messaging.outbox o where o.company_id = sqlc.arg(company_id)::bigint and o.contact_id = sqlc.arg(contact_id)::bigint returning o.message_id)
select messaging.settle_unsent(sqlc.arg(company_id)::bigint, array_agg(r.message_id), '{}', sqlc.arg(code)::text, sqlc.arg(at)::timestamptz) from removed r having count(*) > 0;

-- name: FailMessagesOfTicket :exec
-- Before the ticket is deleted, and with it its messages: those in the outbox, and those whose
-- receipt is awaited. The transaction has locked the ticket.
select messaging.settle_unsent(sqlc.arg(company_id)::bigint, array(
  select m.id from messaging.messages m where m.company_id = sqlc.arg(company_id)::bigint and m.ticket_id = sqlc.arg(ticket_id)::bigint and m.from_me and m.ack = 0 and not m.is_private),
  '{}', sqlc.arg(code)::text, sqlc.arg(at)::timestamptz);

-- name: HasBacklog :one
-- Whether at least so many messages of programs wait for a connection. Those of a chat count
-- only if its first message is due.
select count(*) >= sqlc.arg(least)::int from (
  select from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and not o.is_urgent
    and o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
    and (select first.due_at from messaging.outbox first where first.company_id = o.company_id and first.connection_id = o.connection_id and first.contact_id = o.contact_id order by first.seq limit 1) <= sqlc.arg(at)::timestamptz
  limit sqlc.arg(least)::int) waiting;

-- name: DeleteOutboxEntryAndPhoneCopy :many
-- Of a message that the network has accepted. A network may have reported it before as one that was
-- written on the phone: that copy goes. The message is locked, and not returned if it was not in the
-- outbox: whether its contact was anonymized meanwhile is known to later statements.
with copy as (delete from messaging.messages m where m.company_id = sqlc.arg(company_id) and m.connection_id = sqlc.arg(connection_id)::bigint and m.remote_id = any(sqlc.arg(remote_ids)::text[]) and m.origin = 'phone'),
removed as (delete from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.message_id = sqlc.arg(message_id) returning o.company_id, o.message_id)
select m.id from removed r join messaging.messages m on m.company_id = r.company_id and m.id = r.message_id for no key update of m;

-- name: PostponeOutboxEntry :exec
-- One that the network may have taken nevertheless stays marked.
update messaging.outbox set due_at = sqlc.arg(due_at)::timestamptz, paused_until = sqlc.narg(paused_until), leased_until = null, handed_at = case when sqlc.arg(may_have_arrived)::boolean then handed_at end
where company_id = sqlc.arg(company_id) and message_id = sqlc.arg(message_id) and leased_until = sqlc.arg(leased_until)::timestamptz;

-- name: ReleaseOutboxEntries :exec
-- They were not tried: they return the turns that they took.
with released as (
  update messaging.outbox o set leased_until = null, attempts = greatest(o.attempts - 1, 0)
  where o.company_id = sqlc.arg(company_id)::bigint and o.message_id = any(sqlc.arg(messages)::text[]) and o.leased_until = sqlc.arg(leased_until)::timestamptz
  returning o.connection_id, o.turn_until)
update messaging.connection_paces p set next_send_at = coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp())
from released r where p.company_id = sqlc.arg(company_id)::bigint and p.connection_id = r.connection_id and p.next_send_at = r.turn_until;

-- name: MarkHandedOver :execrows
-- Marks a message before it is handed to its network. No row means that the process does not hold
-- it any more: it was taken out of the outbox, or the lease has ended.
update messaging.outbox set handed_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and message_id = sqlc.arg(message_id) and connection_id = sqlc.arg(connection_id)
  and leased_until = sqlc.arg(leased_until)::timestamptz and leased_until > sqlc.arg(at)::timestamptz;

-- name: InsertUnclearMessage :exec
insert into messaging.unclear_messages (company_id, message_id, due_at, closes_ticket) values ($1, $2, $3, $4) on conflict do nothing;

-- name: DueUnclearMessages :many
select company_id, message_id from messaging.unclear_messages where due_at <= sqlc.arg(at)::timestamptz order by due_at limit 500;

-- name: DeleteUnclearMessage :execrows
delete from messaging.unclear_messages where company_id = $1 and message_id = $2;

-- name: MessageToSend :one
-- A message with its contact and the connection that it is sent on.
select sqlc.embed(m), sqlc.embed(c), sqlc.embed(w) from messaging.messages m
join messaging.contacts c on c.company_id = m.company_id and c.id = m.contact_id
join messaging.connections w on w.company_id = m.company_id and w.id = sqlc.arg(connection_id)
where m.company_id = sqlc.arg(company_id) and m.id = sqlc.arg(message_id);

-- name: CampaignStateOfMessage :one
-- Of a campaign's message or question. The campaign is not cancelled until the transaction ends.
select c.status from messaging.campaigns c join messaging.campaign_shipments s on s.company_id = c.company_id and s.campaign_id = c.id
where s.company_id = sqlc.arg(company_id) and (s.message_id = sqlc.arg(message_id)::text or s.confirmation_id = sqlc.arg(message_id)::text) for share of c;

-- name: TakeBackCampaignMessage :exec
-- A message of a cancelled campaign that the network did not accept goes back to the campaign. One that
-- may have arrived nevertheless has failed, so that nobody gets it twice.
with removed as (
  delete from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.message_id = sqlc.arg(message_id) and o.leased_until = sqlc.arg(leased_until)::timestamptz
  returning o.message_id)
select messaging.settle_unsent(sqlc.arg(company_id)::bigint, array_agg(r.message_id), case when not sqlc.arg(may_have_arrived)::boolean then array_agg(r.message_id) end, sqlc.arg(code)::text, sqlc.arg(at)::timestamptz) from removed r having count(*) > 0;
