-- +goose NO TRANSACTION
-- The payments of an appointment, which lose it when it becomes another patient's.
-- +goose Up
drop index concurrently if exists clinic.payments_appointment;
create index concurrently payments_appointment on clinic.payments (clinic_id, env, appointment_id) where appointment_id is not null;
update clinic.payments p set appointment_id = null from clinic.appointments a
where a.clinic_id = p.clinic_id and a.env = p.env and a.id = p.appointment_id and a.patient_id <> p.patient_id;
