package tenantdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/tenantdata"
)

// An erasure finds children before their parents, tables in a circle of foreign keys, rows that
// triggers add, and more rows than one transaction deletes; another tenant's rows stay.
func TestErase(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	_, err := db.Exec(t.Context(), `
		create schema shop;
		create table shop.shops (id int primary key);
		create table shop.a_customers (shop_id int not null references shop.shops, id int, favorite int, primary key (shop_id, id));
		create table shop.b_orders (shop_id int not null, id int, customer int not null, primary key (shop_id, id), foreign key (shop_id, customer) references shop.a_customers);
		alter table shop.a_customers add foreign key (shop_id, favorite) references shop.b_orders on delete set null (favorite);
		create table shop.z_changes (shop_id int not null, what text not null);
		create table shop.c_left (shop_id int not null, id int, other int, primary key (shop_id, id));
		create table shop.c_right (shop_id int not null, id int, other int, primary key (shop_id, id), foreign key (shop_id, other) references shop.c_left);
		alter table shop.c_left add foreign key (shop_id, other) references shop.c_right;
		alter table shop.a_customers add column left_id int, add foreign key (shop_id, left_id) references shop.c_left on delete set null (left_id);
		create table shop.currencies (name text primary key);
		create function shop.record() returns trigger language plpgsql as $$
		begin
			insert into shop.z_changes values (old.shop_id, 'an order is gone');
			return null;
		end $$;
		create trigger record after delete on shop.b_orders for each row execute function shop.record();
		create function shop.keep() returns trigger language plpgsql as $$
		begin
			if current_setting('hub.erases_tenant', true) is distinct from 'on' then
				raise exception 'customers stay';
			end if;
			return null;
		end $$;
		create trigger keep before delete on shop.a_customers for each statement execute function shop.keep();
		insert into shop.currencies values ('BRL');
		insert into shop.shops values (1), (2);
		insert into shop.a_customers select s, n from generate_series(1, 2) s, generate_series(1, 1200) n;
		insert into shop.b_orders select s, n, n from generate_series(1, 2) s, generate_series(1, 1200) n;
		update shop.a_customers set favorite = id where id <= 10`)
	require.NoError(t, err)
	shops := tenantdata.Schema{Name: "shop", Root: "shops", Key: "shop_id"}
	for range 2 { // the second time there is nothing
		require.NoError(t, shops.Erase(t.Context(), db, 1))
		var shop, customers, orders, changes, currencies int
		require.NoError(t, db.QueryRow(t.Context(), `select (select sum(id) from shop.shops), (select count(*) from shop.a_customers where shop_id = 2),
			(select count(*) from shop.b_orders where shop_id = 2), (select count(*) from shop.z_changes), (select count(*) from shop.currencies)`).Scan(&shop, &customers, &orders, &changes, &currencies))
		require.Equal(t, []int{2, 1200, 1200, 0, 1}, []int{shop, customers, orders, changes, currencies})
	}
	_, err = db.Exec(t.Context(), `delete from shop.a_customers where shop_id = 2`)
	require.ErrorContains(t, err, "customers stay", "others are not let through")
}
