-- +goose Up
-- Up to this line of the file a row counts only if it has a cell for each column: it may be a
-- part of an earlier text, whose quotation mark is not closed.
alter table clinic.imports add column full_rows_until integer not null default 0;
