-- The schema itself is made by hub/migrations before its files run; sqlc needs it said.
create schema hub;
