-- Mails are claimed sender by sender, a product and its tenant.
-- +goose Up
create index mails_sender on hub.mails (product, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), due_at, id) where status = 'waiting';
