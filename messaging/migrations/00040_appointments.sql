-- Appointments of a connected scheduling product: questions that reminders ask, bookings in a
-- chat, and the calls to that product.
-- +goose Up
create table messaging.appointment_questions (
    company_id     bigint      not null,
    id             bigint      generated always as identity unique,
    contact_id     bigint      not null,
    connection_id  bigint      not null,
    message_id     text        not null, -- the reminder
    integration_id uuid        not null, -- whose appointment it is
    appointment_id text        not null check (char_length(appointment_id) between 1 and 200),
    title          text        not null check (char_length(title) <= 200), -- for people: service and time
    locale         text        not null,
    first_option   int         not null check (first_option between 1 and 99), -- the answer that confirms; the next number cancels
    status         text        not null default 'open' check (status in ('open', 'confirming', 'cancelling', 'confirmed', 'cancelled', 'failed', 'replaced')),
    asked_at       timestamptz not null,
    expires_at     timestamptz not null,
    answered_at    timestamptz,
    primary key (company_id, id),
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade,
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade,
    foreign key (company_id, message_id) references messaging.messages (company_id, id) on delete cascade
);
create unique index appointment_questions_message on messaging.appointment_questions (company_id, message_id);
create index appointment_questions_contact on messaging.appointment_questions (company_id, contact_id, connection_id, expires_at);
create index appointment_questions_connection on messaging.appointment_questions (company_id, connection_id);

-- A booking that a contact is choosing, by numbered menus. There is one for a ticket.
create table messaging.booking_chats (
    company_id bigint      not null,
    ticket_id  bigint      not null,
    step       text        not null check (step in ('load_services', 'choose_service', 'load_times', 'choose_time', 'book')),
    state      jsonb       not null, -- what was chosen so far, and what can be chosen
    started_at timestamptz not null, -- of the step
    primary key (company_id, ticket_id),
    foreign key (company_id, ticket_id) references messaging.tickets (company_id, id) on delete cascade
);

-- Calls to the scheduling product that wait. A row is done by the process that holds its lease.
create table messaging.appointment_calls (
    company_id   bigint      not null,
    id           bigint      generated always as identity unique,
    question_id  bigint,
    ticket_id    bigint,     -- of a booking
    attempts     int         not null default 0,
    due_at       timestamptz not null,
    leased_until timestamptz,
    created_at   timestamptz not null,
    primary key (company_id, id),
    check (num_nonnulls(question_id, ticket_id) = 1),
    foreign key (company_id, question_id) references messaging.appointment_questions (company_id, id) on delete cascade,
    foreign key (company_id, ticket_id) references messaging.booking_chats (company_id, ticket_id) on delete cascade
);
create unique index appointment_calls_question on messaging.appointment_calls (company_id, question_id);
create unique index appointment_calls_ticket on messaging.appointment_calls (company_id, ticket_id);
create index appointment_calls_due on messaging.appointment_calls (due_at);
