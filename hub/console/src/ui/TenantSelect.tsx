import { TextInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { bodyOf, client } from "../api/client";
import { useLanguage } from "../i18n";
import { useScreenTexts } from "../i18n/screens";
import { Select } from "./Form";
import { tenantQuery } from "./TenantName";

const limit = 100;

/**
 * TenantSelect is a field for a tenant: a list, and above it a search where there are many. It may stay
 * empty where all is given, which says what that means.
 */
export function TenantSelect({ tenant, all, onChange }: { tenant?: string; all?: string; onChange?: (tenant: string) => void }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const [q, setQ] = useState("");
	const chosen = useQuery({ ...tenantQuery(tenant ?? ""), enabled: tenant !== undefined });
	const found = useQuery({
		queryKey: ["tenants", "select", q],
		placeholderData: keepPreviousData,
		queryFn: () => bodyOf(client.GET("/api/v1/tenants", { params: { query: { limit, q: q || undefined } } })),
	});
	const rows = [...(chosen.data ? [chosen.data] : []), ...(found.data?.items.filter(({ id }) => id !== tenant) ?? [])];
	return (
		<>
			{(found.data?.next_cursor || q) && <TextInput size="xs" type="search" maxLength={120} label={screens.connect.findTenant} value={q} onChange={(event) => setQ(event.currentTarget.value)} />}
			<Select key={rows[0]?.id} name="tenant" onChange={onChange} required={!all} label={t.ui.tenant} value={tenant ?? (rows.length === 1 && !all ? rows[0]?.id : "")} options={[["", all ?? screens.connect.choose], ...rows.map(({ id, name, product }): [string, string] => [id, `${name} · ${product}`])]} />
		</>
	);
}
