import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useScreenTexts } from "../../i18n/screens";
import layout from "../layout.module.css";
import { Status } from "../Status";
import { Time } from "../Time";
import type { Column } from "../VirtualTable";

const shapes = { active: "delivered", replaced: "pending", expired: "parked", revoked: "failed" };

/** KeyRow is what lists of keys show, of operators and of products' accounts. */
export type KeyRow = {
	id: string;
	name: string;
	prefix: string;
	last4: string;
	expires_at: string | null;
	revoked_at: string | null;
	replaced_by: string | null;
	last_used_at: string | null;
};

/** KeyAct is what is done with a key, or the making of one. */
export type KeyAct<K> = { name: "create" | "rotate" | "revoke"; key?: K };

/** stateOf is what a key's times mean for people. */
export function stateOf(key: KeyRow): keyof typeof shapes {
	if (key.revoked_at) return "revoked";
	if (key.expires_at && new Date(key.expires_at) <= new Date()) return "expired";
	return key.replaced_by ? "replaced" : "active";
}

/** KeyName shows how a key begins and ends, and its note. */
export function KeyName({ row }: { row: KeyRow }) {
	return (
		<>
			<span className="mono">
				{row.prefix}…{row.last4}
			</span>{" "}
			<span className="quiet">{row.name}</span>
		</>
	);
}

type Options<K> = { name: (row: K) => ReactNode; between?: Column<K>[]; canChange: boolean; onAct: (act: KeyAct<K>) => void };

/** useKeyColumns returns the columns of a list of keys; between stand those of one side only. */
export function useKeyColumns<K extends KeyRow>({ name, between = [], canChange, onAct }: Options<K>): Column<K>[] {
	const screens = useScreenTexts();
	return [
		{ title: screens.keys.state, width: "108px", cell: (row) => <Status status={shapes[stateOf(row)]} text={screens.keys.states[stateOf(row)]} /> },
		{ title: screens.keys.key, width: "minmax(190px, 1.4fr)", cell: name },
		...between,
		{ title: screens.keys.used, width: "92px", cell: (row) => (row.last_used_at ? <Time at={row.last_used_at} focusable={false} /> : <span className="quiet">{screens.keys.never}</span>) },
		{ title: screens.keys.until, width: "92px", cell: (row) => (row.expires_at ? <Time at={row.expires_at} focusable={false} /> : <span className="quiet">–</span>) },
		{
			title: screens.keys.actions,
			width: "150px",
			cell: (row) =>
				canChange &&
				!row.revoked_at && (
					<>
						{stateOf(row) === "active" && (
							<Button size="compact-xs" variant="default" onClick={() => onAct({ name: "rotate", key: row })}>
								{screens.keys.rotate}
							</Button>
						)}{" "}
						<Button size="compact-xs" variant="default" className={layout.bad} onClick={() => onAct({ name: "revoke", key: row })}>
							{screens.keys.revoke}
						</Button>
					</>
				),
		},
	];
}
