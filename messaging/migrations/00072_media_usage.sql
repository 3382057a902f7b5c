-- +goose Up
-- The bytes of files that a company keeps, erased ones until their content is deleted. A file counts
-- as 4 KiB at least: it takes that much of a disk. Triggers keep the sum exact.
create table messaging.media_usage (
    company_id bigint primary key references messaging.companies (id) on delete cascade,
    bytes      bigint not null
);

-- +goose StatementBegin
create function messaging.count_media() returns trigger language plpgsql as $$
begin
    case tg_op
    when 'INSERT' then
        insert into messaging.media_usage as u (company_id, bytes)
        select n.company_id, sum(greatest(n.size, 4096))::bigint from new_rows n group by n.company_id order by n.company_id
        on conflict (company_id) do update set bytes = u.bytes + excluded.bytes;
    when 'UPDATE' then
        update messaging.media_usage u set bytes = u.bytes + d.bytes
        from (select n.company_id, sum(greatest(n.size, 4096) - greatest(o.size, 4096))::bigint as bytes
              from new_rows n join old_rows o using (company_id, id) group by n.company_id) d
        where u.company_id = d.company_id and d.bytes <> 0;
    when 'DELETE' then
        update messaging.media_usage u set bytes = u.bytes - d.bytes
        from (select o.company_id, sum(greatest(o.size, 4096))::bigint as bytes from old_rows o group by o.company_id) d
        where u.company_id = d.company_id;
    end case;
    return null;
end
$$;
-- +goose StatementEnd

create trigger count_inserts after insert on messaging.media_files referencing new table as new_rows for each statement execute function messaging.count_media();
create trigger count_updates after update on messaging.media_files referencing new table as new_rows old table as old_rows for each statement execute function messaging.count_media();
create trigger count_deletes after delete on messaging.media_files referencing old table as old_rows for each statement execute function messaging.count_media();

-- The triggers' locks keep others from adding files until the transaction ends.
insert into messaging.media_usage (company_id, bytes)
select company_id, sum(greatest(size, 4096))::bigint from messaging.media_files group by company_id;

-- Who uploaded the file; null: a network, a program or an earlier version did. The user may have
-- been deleted meanwhile. Last: until here, the files can be read.
alter table messaging.media_files add column user_id bigint;
