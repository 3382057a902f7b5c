-- Integrations take the events of one ordering key one at a time, as endpoints may. Those
-- made from now on do; those there are stay as they are: an event that a peer refuses
-- would hold up others that pass it today.
-- +goose Up
alter table hub.integrations add column ordered boolean not null default false;
alter table hub.integrations alter column ordered set default true;
drop trigger config_changed on hub.integrations;
create trigger config_changed after insert or delete or update of product, status, api_url, peer_webhook_url, secret, previous_secret,
    previous_expires_at, pending_secret, remote_key, previous_remote_key, event_types, features, enabled, ordered on hub.integrations
    for each row execute function hub.record_config_change('handshake', 'register_at', 'register_tries', 'registered_at', 'registered_events', 'peer_registered_at',
        'last_error', 'last_health_check', 'failures', 'successes', 'unauthorized_since', 'next_probe_at', 'revoked_at', 'updated_at',
        'draining_since', 'trial_at', 'trial_id');
