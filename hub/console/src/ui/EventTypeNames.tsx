import { TextInput } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { bodyOf, client } from "../api/client";
import { useScreenTexts } from "../i18n/screens";
import { tenantQuery } from "./TenantName";

/** namesQuery reads the first names that are described, of products; undefined is all of them. */
const namesQuery = (products: (string | undefined)[]) =>
	queryOptions({
		queryKey: ["event-types", "names", products],
		queryFn: async ({ signal }) => {
			const pages = await Promise.all(products.map((product) => bodyOf(client.GET("/api/v1/event-types", { signal, params: { query: { product, limit: 200, brief: true } } }))));
			return pages.flatMap(({ items }) => items.map(({ name }) => name));
		},
	});

/**
 * EventTypeNames is the field for event types. It offers the names that are described: those of a
 * product, of a tenant's product and the hub, or of all.
 */
export function EventTypeNames({ value = "*", product, tenant }: { value?: string; product?: string; tenant?: string }) {
	const { endpoints: texts } = useScreenTexts();
	const list = useId();
	const [typed, setTyped] = useState(value);
	const owner = useQuery({ ...tenantQuery(tenant ?? ""), enabled: Boolean(tenant) });
	const known = useQuery({ ...namesQuery(owner.data ? [owner.data.product, "hub"] : [product]), enabled: !tenant || owner.isFetched });
	const before = typed.replace(/[^\s,]*$/, "");
	const names = [...new Set(known.data)];
	return (
		<>
			<TextInput name="types" required maxLength={2000} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} list={list} label={texts.types} description={product ? undefined : texts.typesHelp} />
			<datalist id={list}>
				{names.map((name) => (
					<option key={name} value={before + name} />
				))}
			</datalist>
		</>
	);
}
