-- +goose Up
-- The event types that a peer was last registered for. A process that starts with another
-- list registers again. Null: registered by an earlier version.
alter table hub.integrations add column registered_events text[];
drop trigger config_changed on hub.integrations;
create trigger config_changed after insert or delete or update of product, status, api_url, peer_webhook_url, secret, previous_secret,
    previous_expires_at, pending_secret, remote_key, previous_remote_key, event_types, features, enabled on hub.integrations
    for each row execute function hub.record_config_change('handshake', 'register_at', 'register_tries', 'registered_at', 'registered_events', 'peer_registered_at',
        'last_error', 'last_health_check', 'failures', 'successes', 'unauthorized_since', 'next_probe_at', 'revoked_at', 'updated_at',
        'draining_since', 'trial_at', 'trial_id');

-- +goose Down
drop trigger config_changed on hub.integrations;
create trigger config_changed after insert or delete or update of product, status, api_url, peer_webhook_url, secret, previous_secret,
    previous_expires_at, pending_secret, remote_key, previous_remote_key, event_types, features, enabled on hub.integrations
    for each row execute function hub.record_config_change('handshake', 'register_at', 'register_tries', 'registered_at', 'peer_registered_at',
        'last_error', 'last_health_check', 'failures', 'successes', 'unauthorized_since', 'next_probe_at', 'revoked_at', 'updated_at',
        'draining_since', 'trial_at', 'trial_id');
alter table hub.integrations drop column registered_events;
