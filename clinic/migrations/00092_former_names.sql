-- +goose NO TRANSACTION
-- Names that a patient's record had get a kind of their own: connected products may know a
-- deleted patient by them. A name that a user linked may be another person's, and stays of kind
-- name; so do all from before, which cannot be told apart.
-- +goose Up
alter table clinic.earlier_contacts drop constraint if exists earlier_contacts_kind;
alter table clinic.earlier_contacts add constraint earlier_contacts_kind check (kind in ('name', 'former_name', 'phone', 'email', 'cpf')) not valid;
alter table clinic.earlier_contacts validate constraint earlier_contacts_kind;
