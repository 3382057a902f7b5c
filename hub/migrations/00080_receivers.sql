-- What receivers ask for: headers of their own, and a client certificate.
-- +goose Up
alter table hub.endpoints
    add column headers bytea,            -- sealed JSON object of names and values; null: none
    add column client_certificate text,  -- PEM, the endpoint's own first; null: none
    add column client_key bytea,         -- sealed PEM
    add constraint endpoints_client_certificate check ((client_certificate is null) = (client_key is null));
