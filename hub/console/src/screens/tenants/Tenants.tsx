import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Choice } from "../../ui/Choice";
import { Copy } from "../../ui/Copy";
import { FilterBar } from "../../ui/FilterBar";
import { FormDialog, Select } from "../../ui/Form";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { Time } from "../../ui/Time";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { DeleteTenant } from "./DeleteTenant";
import { Products } from "./Products";
import { createProduct, createTenant, productsQuery, type Tenant, tenantsQuery, updateTenant } from "./queries";
import { type TenantsSearch, tenantsSearch } from "./search";
import { ResumeTenant, SuspendTenant } from "./SuspendTenant";
import { stateOf, TenantState } from "./TenantState";

const route = getRouteApi("/shell/tenants");
const limits = ["endpoints", "deliveries_per_request", "in_flight", "queue"] as const;

type Act = { name: "products" | "product" | "tenant" } | { name: "limits" | "suspend" | "resume" | "delete"; tenant: Tenant };

export function Tenants() {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const admin = useAdmin();
	const queries = useQueryClient();
	const filters = tenantsSearch(search);
	const list = useInfiniteQuery(tenantsQuery(filters));
	const products = useQuery(productsQuery);
	const names = products.data?.items.map(({ name }) => name) ?? [];
	const external = products.data?.items.filter((product) => !product.hosted) ?? [];
	const isHosted = (tenant: Tenant) => !external.some(({ name }) => name === tenant.product);
	const [act, setAct] = useState<Act>();
	const onClose = () => setAct(undefined);
	const onDone = () => Promise.all([queries.invalidateQueries({ queryKey: ["tenants"] }), queries.invalidateQueries({ queryKey: ["tenant"] }), queries.invalidateQueries({ queryKey: ["products"] })]);
	const set = (changed: TenantsSearch) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
	const columns: Column<Tenant>[] = [
		{
			title: t.ui.tenant,
			width: "minmax(130px, 1.6fr)",
			cell: (row) => (
				<button type="button" className={layout.name} data-row-link onClick={() => setAct({ name: "limits", tenant: row })}>
					{row.name}
				</button>
			),
		},
		{ title: t.ui.product, width: "minmax(70px, 0.7fr)", cell: (row) => row.product },
		{ title: screens.tenants.state, width: "minmax(150px, 0.9fr)", cell: (row) => <TenantState tenant={row} focusable={false} /> },
		{ title: screens.tenants.reference, width: "minmax(70px, 0.8fr)", cell: (row) => <span className="quiet">{row.external_ref ?? "–"}</span> },
		{
			title: screens.tenants.limits,
			width: "minmax(74px, 1.2fr)",
			cell: (row) => (
				<span className="quiet">
					{limits
						.filter((name) => row.limits[name] != null)
						.map((name) => `${screens.tenants.limit[name]}: ${row.limits[name]}`)
						.join(", ") || screens.tenants.defaults}
				</span>
			),
		},
		{
			title: screens.tenants.show,
			width: "160px",
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
		{ title: screens.tenants.since, width: "76px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
	if (admin)
		columns.push({
			title: screens.tenants.actions,
			width: "156px",
			cell: (row) => <Actions tenant={row} deletable={products.isSuccess} onAct={(name) => setAct({ name, tenant: row })} />,
		});
	const buttons = (
		<>
			<Button size="xs" variant="default" onClick={() => setAct({ name: "products" })}>
				{screens.tenants.products}
			</Button>
			{admin ? (
				<>
					<Button size="xs" variant="default" onClick={() => setAct({ name: "product" })}>
						{screens.tenants.createProduct}
					</Button>
					<Button size="xs" disabled={external.length === 0} title={external.length === 0 ? screens.tenants.noExternal : undefined} onClick={() => setAct({ name: "tenant" })}>
						{screens.tenants.createTenant}
					</Button>
				</>
			) : (
				<span className="quiet">{t.ui.adminsOnly}</span>
			)}
		</>
	);
	return (
		<ListScreen
			title={screens.tenants.title}
			lead={screens.tenants.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={Object.values(filters).some(Boolean)}
			onClear={() => void navigate({ search: { environment: search.environment } })}
			empty={{ title: screens.tenants.emptyTitle, text: screens.tenants.empty, next: null }}
			actions={buttons}
			filters={
				<FilterBar
					tokens={filters.q ? [{ name: "name", value: filters.q }] : []}
					names={["name"]}
					parse={(name, value) => (name === "name" && tenantsSearch({ q: value }).q ? { name, value } : undefined)}
					onAdd={set}
					onRemove={() => set({ q: undefined })}
				>
					<Choice label={t.ui.product} value={filters.product} values={names} texts={Object.fromEntries(names.map((name) => [name, name]))} onChange={(product) => set({ product })} />
				</FilterBar>
			}
		>
			{act?.name === "products" && <Products products={products} admin={admin} onClose={onClose} onDone={onDone} />}
			{act?.name === "suspend" && <SuspendTenant tenant={act.tenant} onClose={onClose} onDone={onDone} />}
			{act?.name === "resume" && <ResumeTenant tenant={act.tenant} onClose={onClose} onDone={onDone} />}
			{act?.name === "delete" && <DeleteTenant tenant={act.tenant} hosted={isHosted(act.tenant)} onClose={onClose} onDone={onDone} />}
			{act?.name === "product" && (
				<FormDialog title={screens.tenants.createProduct} onClose={onClose} onDone={onDone} send={({ text, maybe }) => createProduct({ name: text("name"), prefix: text("prefix"), title: maybe("title") })}>
					<TextInput name="name" required maxLength={40} pattern="[a-z][a-z0-9\-]{1,39}" label={t.ui.name} description={screens.tenants.nameHelp} />
					<TextInput name="prefix" required maxLength={10} pattern="[a-z][a-z0-9]{1,9}" label={screens.tenants.prefix} description={screens.tenants.prefixHelp} />
					<TextInput name="title" maxLength={120} label={screens.tenants.label} />
				</FormDialog>
			)}
			{act?.name === "tenant" && (
				<FormDialog title={screens.tenants.createTenant} onClose={onClose} onDone={onDone} send={({ text, maybe }) => createTenant({ product: text("product"), name: text("name"), external_ref: maybe("reference") })}>
					<Select name="product" required label={t.ui.product} options={external.map(({ name, title }) => [name, title])} />
					<TextInput name="name" required maxLength={200} label={t.ui.name} />
					<TextInput name="reference" maxLength={200} label={screens.tenants.reference} />
				</FormDialog>
			)}
			{act?.name === "limits" && <Limits tenant={act.tenant} hosted={isHosted(act.tenant)} readOnly={!admin} onClose={onClose} onDone={onDone} />}
		</ListScreen>
	);
}

/** Actions are what can be done with a tenant: nothing with one that is being deleted. How it is deleted depends on its product. */
function Actions({ tenant, deletable, onAct }: { tenant: Tenant; deletable: boolean; onAct: (name: "suspend" | "resume" | "delete") => void }) {
	const { t } = useLanguage();
	const { tenants: texts } = useScreenTexts();
	const { state } = stateOf(tenant);
	if (state === "deleting") return null;
	const change = state === "suspended" ? "resume" : "suspend";
	return (
		<>
			<Button size="compact-xs" variant="default" aria-label={`${texts[change]} ${tenant.name}`} onClick={() => onAct(change)}>
				{texts[change]}
			</Button>{" "}
			<Button size="compact-xs" variant="default" className={layout.bad} disabled={!deletable} aria-label={`${t.ui.delete} ${tenant.name}`} onClick={() => onAct("delete")}>
				{t.ui.delete}
			</Button>
		</>
	);
}

/** Limits shows a tenant and changes what it may use. Hosted products name their tenants themselves. */
function Limits({ tenant, hosted, readOnly, onClose, onDone }: { tenant: Tenant; hosted: boolean; readOnly: boolean; onClose: () => void; onDone: () => unknown }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	return (
		<FormDialog
			title={tenant.name}
			submit={t.ui.save}
			disabled={readOnly}
			onClose={onClose}
			onDone={onDone}
			send={({ text, maybe }) =>
				updateTenant(tenant, {
					...(!hosted && { name: text("name"), external_ref: maybe("reference") ?? null }),
					limits: Object.fromEntries(limits.map((name) => [name, maybe(name) === undefined ? null : Number(text(name))])),
				})
			}
		>
			<p className="quiet">
				{tenant.product} · <span className="mono">{tenant.id}</span> <Copy text={tenant.id} />
			</p>
			<p>
				<TenantState tenant={tenant} focusable />
			</p>
			{hosted ? (
				<p className="quiet">{screens.tenants.hostedNames}</p>
			) : (
				<>
					<TextInput name="name" required maxLength={200} label={t.ui.name} defaultValue={tenant.name} />
					<TextInput name="reference" maxLength={200} label={screens.tenants.reference} defaultValue={tenant.external_ref ?? ""} />
				</>
			)}
			{limits.map((name) => (
				<TextInput key={name} name={name} type="number" min={1} label={screens.tenants.limit[name]} description={screens.tenants.limitHelp[name]} defaultValue={tenant.limits[name] ?? ""} />
			))}
		</FormDialog>
	);
}
