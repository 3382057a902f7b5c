-- The schema itself is made by the hub before the migrations run; sqlc needs it said.
create schema messaging;
