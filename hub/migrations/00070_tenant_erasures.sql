-- The log of a deleted tenant is erased as a person's is, all of it.
-- +goose Up
alter table hub.erasures
    add column whole_tenant boolean not null default false, -- seq is no event's: everything of the tenant's environment is erased
    add column examined     boolean not null default false, -- of whole_tenant: the end of the log was reached
    -- A process of the version before would look for a person and end the walk: it is refused,
    -- and the erasure waits for a process of this version.
    add constraint erasures_examined check (not whole_tenant or started_at is null or upto is not null or examined);

-- +goose Down
alter table hub.erasures drop column whole_tenant, drop column examined;
