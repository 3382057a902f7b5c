-- Mail on its way. Rows are written in the transaction of what they tell about.
-- +goose Up
create table hub.mails (
    id          uuid        primary key, -- UUIDv7
    product     text        not null,
    recipient   text        not null check (recipient !~ '[[:cntrl:]]'),
    from_name   text        not null default '',
    reply_to    text        not null default '',
    subject     text        not null check (subject !~ '[[:cntrl:]]'),
    body        text        not null,
    attachments jsonb       not null default '[]',
    -- What is settled stays only where it is kept for developers to look at.
    status      text        not null default 'waiting' check (status in ('waiting', 'sent', 'failed')),
    attempts    integer     not null default 0,
    due_at      timestamptz not null default now(), -- of the next attempt; of one under way: the end of its lease
    created_at  timestamptz not null default now()
);
create index mails_due on hub.mails (due_at) where status = 'waiting';
create index mails_recipient on hub.mails (lower(recipient), id);
create index mails_settled on hub.mails (created_at) where status <> 'waiting';
