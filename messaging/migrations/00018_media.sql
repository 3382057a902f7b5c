-- Files of messages: their content is in the hub's store of files.
-- +goose Up
create table messaging.media_files (
    company_id bigint      not null references messaging.companies (id) on delete cascade,
    id         text        not null unique check (char_length(id) >= 26), -- unguessable: it is the file's address
    blob_id    uuid        not null, -- in the store of files
    media_type text        not null check (media_type in ('image', 'video', 'audio', 'document')),
    mime_type  text        not null,
    name       text        not null check (char_length(name) between 1 and 255),
    size       bigint      not null default 0, -- bytes
    is_stored  boolean     not null default false, -- the content is complete
    erased_at  timestamptz, -- a job deletes the content, then the row
    created_at timestamptz not null default now(),
    primary key (company_id, id)
);
create index media_files_age on messaging.media_files (created_at, id);
create index media_files_erased on messaging.media_files (erased_at) where erased_at is not null;

alter table messaging.messages
    drop column media_url, -- nothing wrote it
    add column media_id        text,
    add column media_reference text; -- of a received file that is not fetched from the network yet
alter table messaging.messages add constraint messages_media foreign key (company_id, media_id) references messaging.media_files (company_id, id) not valid;
alter table messaging.messages validate constraint messages_media;
