-- +goose Up
-- Contacts that were anonymized while a file was imported: its rows about them are left out. The
-- hashes are keyed, and deleted when the import ends.
create table messaging.contact_import_erasures (
    company_id  bigint not null,
    import_id   bigint not null,
    number_hash bytea  not null,
    primary key (company_id, import_id, number_hash),
    foreign key (company_id, import_id) references messaging.contact_imports (company_id, id) on delete cascade
);
