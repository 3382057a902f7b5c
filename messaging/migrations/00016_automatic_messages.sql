-- Queues answer by menus, and connections by automatic messages.
-- +goose Up
alter table messaging.queues
    add column options jsonb not null default '[]'; -- menu of the queue

alter table messaging.connections
    add column transfer_queue_id        bigint, -- queue of tickets that nobody accepts
    add column time_to_transfer         int  not null default 0 check (time_to_transfer between 0 and 43200), -- minutes; 0: never
    add column expires_ticket           int  not null default 0 check (expires_ticket between 0 and 525600), -- minutes; 0: never
    add column expires_inactive_message text not null default '',
    add column max_use_bot_queues       int  not null default 3 check (max_use_bot_queues between 0 and 10), -- wrong answers to a menu; 0: no menus
    add foreign key (company_id, transfer_queue_id) references messaging.queues (company_id, id) on delete set null (transfer_queue_id);
create index connections_transfer_queue on messaging.connections (company_id, transfer_queue_id);

alter table messaging.contacts
    add column out_of_hours_at timestamptz; -- when the contact last got an out-of-hours message

alter table messaging.tickets
    add column greeted_at      timestamptz, -- when it got its greeting
    add column menu_sent_at    timestamptz, -- when the menu was sent that waits for an answer
    add column menu_option     int,         -- option of the queue whose menu that is; null: the first menu
    add column wrong_answers   int not null default 0, -- to that menu
    add column rating_asked_at timestamptz; -- when it was closed and the contact asked for a rating
