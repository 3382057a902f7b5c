import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { Choice } from "../../ui/Choice";
import { Copy } from "../../ui/Copy";
import { FilterBar } from "../../ui/FilterBar";
import { FormDialog, Select } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import page from "../../ui/page.module.css";
import { Time } from "../../ui/Time";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { createProduct, createTenant, productsQuery, type Tenant, tenantsQuery, updateTenant } from "./queries";
import { type TenantsSearch, tenantsSearch } from "./search";

const route = getRouteApi("/shell/tenants");
const limits = ["endpoints", "deliveries_per_request", "in_flight", "queue"] as const;

export function Tenants() {
	const { t } = useLanguage();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const admin = useAdmin();
	const queries = useQueryClient();
	const filters = tenantsSearch(search);
	const list = useInfiniteQuery(tenantsQuery(filters));
	const products = useQuery(productsQuery);
	const names = products.data?.items.map(({ name }) => name) ?? [];
	const [act, setAct] = useState<"product" | "tenant" | Tenant>();
	const onClose = () => setAct(undefined);
	const onDone = () => Promise.all([queries.invalidateQueries({ queryKey: ["tenants"] }), queries.invalidateQueries({ queryKey: ["tenant"] }), queries.invalidateQueries({ queryKey: ["products"] })]);
	const set = (changed: TenantsSearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const columns: Column<Tenant>[] = [
		{
			title: t.ui.tenant,
			width: "minmax(180px, 1.6fr)",
			cell: (row) => (
				<button type="button" className={page.name} data-row-link onClick={() => setAct(row)}>
					{row.name}
				</button>
			),
		},
		{ title: t.ui.product, width: "minmax(90px, 0.7fr)", cell: (row) => row.product },
		{ title: t.tenants.reference, width: "minmax(100px, 0.8fr)", cell: (row) => <span className="quiet">{row.external_ref ?? "–"}</span> },
		{
			title: t.tenants.limits,
			width: "minmax(150px, 1.2fr)",
			cell: (row) => (
				<span className="quiet">
					{limits
						.filter((name) => row.limits[name] != null)
						.map((name) => `${t.tenants.limit[name]}: ${row.limits[name]}`)
						.join(", ") || t.tenants.defaults}
				</span>
			),
		},
		{
			title: t.tenants.show,
			width: "190px",
			cell: (row) => (
				<>
					<Link to="/keys" search={{ environment: search.environment, tenant: row.id }}>
						{t.nav.keys}
					</Link>
					{" · "}
					<Link to="/endpoints" search={{ environment: search.environment, tenant: row.id }}>
						{t.nav.endpoints}
					</Link>
				</>
			),
		},
		{ title: t.tenants.since, width: "96px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
	const external = products.data?.items.filter((product) => !product.hosted) ?? [];
	const buttons = admin ? (
		<>
			<Button size="xs" variant="default" onClick={() => setAct("product")}>
				{t.tenants.createProduct}
			</Button>
			<Button size="xs" disabled={external.length === 0} title={external.length === 0 ? t.tenants.noExternal : undefined} onClick={() => setAct("tenant")}>
				{t.tenants.createTenant}
			</Button>
		</>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen
			title={t.tenants.title}
			lead={t.tenants.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: t.tenants.emptyTitle, text: t.tenants.empty, next: null }}
			actions={buttons}
			filters={
				<FilterBar
					tokens={filters.q ? [{ name: "q", value: filters.q }] : []}
					names={["q"]}
					parse={(name, value) => (name === "q" && tenantsSearch({ q: value }).q ? { name, value } : undefined)}
					onAdd={(token) => set({ q: token.value })}
					onRemove={() => set({ q: undefined })}
				>
					<Choice label={t.ui.product} value={filters.product} values={names} texts={Object.fromEntries(names.map((name) => [name, name]))} onChange={(product) => set({ product })} />
				</FilterBar>
			}
		>
			{act === "product" && (
				<FormDialog title={t.tenants.createProduct} onClose={onClose} onDone={onDone} send={({ text, maybe }) => createProduct({ name: text("name"), prefix: text("prefix"), title: maybe("title") })}>
					<TextInput name="name" required maxLength={40} pattern="[a-z][a-z0-9\-]{1,39}" label={t.ui.name} description={t.tenants.nameHelp} />
					<TextInput name="prefix" required maxLength={10} pattern="[a-z][a-z0-9]{1,9}" label={t.tenants.prefix} description={t.tenants.prefixHelp} />
					<TextInput name="title" maxLength={120} label={t.tenants.label} />
				</FormDialog>
			)}
			{act === "tenant" && (
				<FormDialog title={t.tenants.createTenant} onClose={onClose} onDone={onDone} send={({ text, maybe }) => createTenant({ product: text("product"), name: text("name"), external_ref: maybe("reference") })}>
					<Select name="product" required label={t.ui.product} options={external.map(({ name, title }) => [name, title])} />
					<TextInput name="name" required maxLength={200} label={t.ui.name} />
					<TextInput name="reference" maxLength={200} label={t.tenants.reference} />
				</FormDialog>
			)}
			{typeof act === "object" && <Limits tenant={act} hosted={!external.some(({ name }) => name === act.product)} readOnly={!admin} onClose={onClose} onDone={onDone} />}
		</ListScreen>
	);
}

/** Limits shows a tenant and changes what it may use. Hosted products name their tenants themselves. */
function Limits({ tenant, hosted, readOnly, onClose, onDone }: { tenant: Tenant; hosted: boolean; readOnly: boolean; onClose: () => void; onDone: () => unknown }) {
	const { t } = useLanguage();
	return (
		<FormDialog
			title={tenant.name}
			submit={t.ui.save}
			disabled={readOnly}
			onClose={onClose}
			onDone={onDone}
			send={({ text, maybe }) =>
				updateTenant(tenant.id, {
					name: hosted ? tenant.name : text("name"),
					external_ref: hosted ? tenant.external_ref : (maybe("reference") ?? null),
					limits: Object.fromEntries(limits.map((name) => [name, maybe(name) === undefined ? null : Number(text(name))])),
				})
			}
		>
			<p className="quiet">
				{tenant.product} · <span className="mono">{tenant.id}</span> <Copy text={tenant.id} />
			</p>
			{!hosted && (
				<>
					<TextInput name="name" required maxLength={200} label={t.ui.name} defaultValue={tenant.name} />
					<TextInput name="reference" maxLength={200} label={t.tenants.reference} defaultValue={tenant.external_ref ?? ""} />
				</>
			)}
			{limits.map((name) => (
				<TextInput key={name} name={name} type="number" min={1} label={t.tenants.limit[name]} description={t.tenants.limitHelp[name]} defaultValue={tenant.limits[name] ?? ""} />
			))}
		</FormDialog>
	);
}
