import { queryOptions, useQuery } from "@tanstack/react-query";
import { bodyOf, client } from "../api/client";

export const tenantQuery = (id: string) =>
	queryOptions({ queryKey: ["tenant", id], staleTime: 60_000, queryFn: () => bodyOf(client.GET("/api/v1/tenants/{id}", { params: { path: { id } } })) });

/** TenantName shows a tenant by its name, once that is known. */
export function TenantName({ id }: { id: string | null }) {
	const { data } = useQuery({ ...tenantQuery(id ?? ""), enabled: id !== null });
	if (id === null) return <span className="quiet">–</span>; // an alert's
	return <span title={id}>{data?.name ?? <span className="mono quiet">{id.slice(0, 8)}</span>}</span>;
}
