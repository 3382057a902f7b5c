-- +goose Up
comment on schema hub is 'integration hub: configuration, events, deliveries and their log';

-- +goose Down
comment on schema hub is null;
