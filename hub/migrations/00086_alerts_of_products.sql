-- Alerts that are limited to a product follow its name, and end with it.
-- +goose Up
-- Neither table changes between the cleaning and the foreign key. There are 100 alerts at most.
lock table hub.products, hub.alerts in share row exclusive mode;
delete from hub.alerts a where a.product is not null and not exists (select from hub.products p where p.name = a.product);
alter table hub.alerts add foreign key (product) references hub.products (name) on update cascade on delete cascade;
