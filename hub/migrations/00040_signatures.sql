-- Which signatures an endpoint's deliveries carry.
-- +goose Up
alter table hub.endpoints
    -- The secret also makes webhook-signature. Plain secrets do not: libraries could not
    -- verify it. Secrets of before this column go on as they were.
    add column standard_signature          boolean not null default true,
    add column previous_standard_signature boolean not null default true, -- of previous_secret
    -- X-Webhook-Signature is made with previous_secret until previous_expires_at.
    add column switch_at_end               boolean not null default false;
