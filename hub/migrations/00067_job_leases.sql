-- A run of a job is leased for seconds, on the database's clock, and renewed by the process
-- that runs it.
-- +goose Up
alter table hub.jobs add column holder text; -- the process that leased it; with leased_to
-- Whether a job runs is asked before each claim, however many runs wait.
create index jobs_leased on hub.jobs (product, job) where leased_to is not null;

-- +goose Down
drop index hub.jobs_leased;
alter table hub.jobs drop column holder;
