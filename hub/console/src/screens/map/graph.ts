import type { paths } from "../../api/schema";
import type { Integration } from "../integrations/queries";

export type Receiver = paths["/api/v1/stats/receivers"]["get"]["responses"]["200"]["content"]["application/json"]["items"][number];
export type State = "good" | "some" | "bad" | "idle";

/** Edge is a connection as one of its two sides has it: what this side sends. */
export type Edge = { integration: Integration; from: string; to: string; attempts: number; errors: number; state: State };
/** Account is a tenant, or a product elsewhere, whose accounts are not known here. */
export type Account = { id: string; name: string; product: string; external: boolean };
export type Graph = { accounts: Account[]; edges: Edge[] };

const manyErrors = 0.05; // share of attempts

function stateOf(integration: Integration, attempts: number, errors: number): State {
	if (integration.status === "error" || errors > attempts * manyErrors) return "bad";
	if (errors > 0) return "some";
	return attempts > 0 ? "good" : "idle";
}

/** graphOf returns accounts and their connections, the worst first. Revoked ones are left out. */
export function graphOf(integrations: Integration[], receivers: Map<string, Receiver>): Graph {
	const accounts = new Map<string, Account>();
	for (const { tenant_id: id, tenant_name: name, own_product: product } of integrations) accounts.set(id, { id, name, product, external: false });
	const known = new Map(integrations.map(({ own_product, peer_account, tenant_id }) => [`${own_product} ${peer_account}`, tenant_id]));
	const edges = integrations.map((integration): Edge => {
		// A side that has not asked the peer yet does not know its account; the other side does.
		const account = integration.peer_account ?? known.get(`${integration.product} ${integration.tenant_id}`);
		const local = account && accounts.has(account) ? account : undefined;
		const to = local ?? `${integration.product} ${account ?? ""}`;
		if (!local) accounts.set(to, { id: to, name: integration.product, product: integration.product, external: true });
		const { attempts = 0, errors = 0 } = receivers.get(integration.id) ?? {};
		return { integration, from: integration.tenant_id, to, attempts, errors, state: stateOf(integration, attempts, errors) };
	});
	const worst: State[] = ["bad", "some", "good", "idle"];
	edges.sort((a, b) => worst.indexOf(a.state) - worst.indexOf(b.state) || b.errors - a.errors || b.attempts - a.attempts);
	return { accounts: [...accounts.values()], edges };
}

export const maxDrawn = 40;
export const box = { width: 190, height: 38, gap: 12, head: 30, column: 256 };

export type Drawing = { width: number; height: number; columns: { product: string; x: number }[]; places: Map<string, { x: number; y: number }>; edges: Edge[] };

/** placeAccounts puts the accounts of each product below one another. Only accounts of drawn edges have places. */
export function placeAccounts({ accounts, edges }: Graph): Drawing {
	const drawn = edges.slice(0, maxDrawn);
	const used = new Set(drawn.flatMap((edge) => [edge.from, edge.to]));
	const columns = [...new Set(accounts.filter(({ id }) => used.has(id)).map(({ product }) => product))].sort().map((product, index) => ({ product, x: index * box.column }));
	const places = new Map<string, { x: number; y: number }>();
	let height = 0;
	for (const { product, x } of columns) {
		accounts
			.filter((account) => account.product === product && used.has(account.id))
			.sort((a, b) => Number(a.external) - Number(b.external) || a.name.localeCompare(b.name))
			.forEach(({ id }, index) => {
				const y = box.head + index * (box.height + box.gap);
				places.set(id, { x, y });
				height = Math.max(height, y + box.height);
			});
	}
	return { width: (columns.length - 1) * box.column + box.width, height: height + 2, columns, places, edges: drawn };
}

/** curveOf returns the path of an edge. The two directions of a connection run beside each other. */
export function curveOf(edge: Edge, { places }: Drawing): string {
	const from = places.get(edge.from)!;
	const to = places.get(edge.to)!;
	const right = to.x >= from.x;
	const offset = right ? -5 : 5;
	const [y1, y2] = [from.y + box.height / 2 + offset, to.y + box.height / 2 + offset];
	if (to.x === from.x) return `M${from.x + box.width} ${y1}c60 0 60 ${y2 - y1} 0 ${y2 - y1}`;
	const [x1, x2] = right ? [from.x + box.width, to.x] : [from.x, to.x + box.width];
	const middle = (x1 + x2) / 2;
	return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
