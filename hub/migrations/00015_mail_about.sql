-- Whom a mail tells of, so that it can be dropped when they ask to be forgotten, and
-- where its receiver can end a list.
-- +goose Up
alter table hub.mails
    add column about       text not null default '',
    add column unsubscribe text not null default '' check (unsubscribe !~ '[[:cntrl:]]');
create index mails_about on hub.mails (product, about) where about <> '';
