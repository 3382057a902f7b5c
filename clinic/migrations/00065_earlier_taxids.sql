-- +goose NO TRANSACTION
-- What a patient went by earlier: keyed hashes of tax ids too, by which an import knows
-- who was forgotten.
-- +goose Up
alter table clinic.earlier_contacts drop constraint if exists earlier_contacts_kind_check;
alter table clinic.earlier_contacts drop constraint if exists earlier_contacts_kind;
alter table clinic.earlier_contacts add constraint earlier_contacts_kind check (kind in ('name', 'phone', 'email', 'cpf')) not valid;
alter table clinic.earlier_contacts validate constraint earlier_contacts_kind;

-- +goose Down
delete from clinic.earlier_contacts where kind = 'cpf';
alter table clinic.earlier_contacts drop constraint if exists earlier_contacts_kind;
alter table clinic.earlier_contacts add constraint earlier_contacts_kind_check check (kind in ('name', 'phone', 'email'));
