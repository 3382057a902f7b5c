-- +goose Up
-- PostgreSQL empties unlogged tables after a crash: changes are lost then, while the cursors, which
-- are logged, stay. The marker is lost together with the changes. Whoever misses it raises every
-- cursor, so that no event stream goes on as if nothing had happened in between.
create unlogged table messaging.changes_marker (
    id smallint primary key check (id = 1)
);
insert into messaging.changes_marker (id) values (1);
