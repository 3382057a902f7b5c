import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { FilterBar } from "../../ui/FilterBar";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
import { useAdmin } from "../../ui/useAdmin";
import type { Column } from "../../ui/VirtualTable";
import { EventTypeForm } from "./EventTypeForm";
import { documentAddress, eventTypesQuery, type Read } from "./queries";
import { eventTypesSearch, parseToken, tokenNames } from "./search";

const route = getRouteApi("/shell/event-types");

export function EventTypes() {
	const { t } = useLanguage();
	const { eventTypes: texts } = useScreenTexts();
	const search = route.useSearch();
	const navigate = route.useNavigate();
	const admin = useAdmin();
	const queries = useQueryClient();
	const filters = eventTypesSearch(search);
	const list = useInfiniteQuery(eventTypesQuery(filters));
	const [creating, setCreating] = useState(false);
	const columns: Column<Read>[] = [
		{ title: texts.product, width: "112px", cell: (row) => row.product },
		{
			title: t.ui.name,
			width: "minmax(180px, 1fr)",
			cell: (row) => (
				<Link to="/event-types/$id" params={{ id: row.id }} className={layout.name} title={row.name} data-row-link>
					{row.name}
				</Link>
			),
		},
		{ title: texts.has, width: "180px", cell: (row) => <span className="quiet">{marksOf(row, texts)}</span> },
		{ title: texts.description, width: "minmax(160px, 2fr)", cell: (row) => <span className="quiet">{row.description}</span> },
	];
	const create = admin ? (
		<Button size="xs" onClick={() => setCreating(true)}>
			{texts.create}
		</Button>
	) : (
		<span className="quiet">{t.ui.adminsOnly}</span>
	);
	return (
		<ListScreen
			title={texts.title}
			lead={texts.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			filtered={filters.product !== undefined}
			onClear={() => void navigate({ search: {} })}
			empty={{ title: texts.emptyTitle, text: texts.empty, next: create }}
			actions={
				<>
					{filters.product && (
						<a href={documentAddress(filters.product)} download={`${filters.product}.webhooks.json`}>
							{texts.document}
						</a>
					)}
					{create}
				</>
			}
			filters={
				<FilterBar
					tokens={filters.product ? [{ name: "product", value: filters.product }] : []}
					names={tokenNames}
					parse={parseToken}
					onAdd={(added) => void navigate({ search: added, replace: true })}
					onRemove={() => void navigate({ search: {}, replace: true })}
				/>
			}
		>
			{creating && (
				<EventTypeForm
					product={filters.product}
					onClose={() => setCreating(false)}
					onDone={async (made) => {
						await queries.invalidateQueries({ queryKey: ["event-types"] });
						await navigate({ to: "/event-types/$id", params: { id: made.id } });
					}}
				/>
			)}
		</ListScreen>
	);
}

/** marksOf says what is known of a type. */
export const marksOf = (type: Read, texts: { schema: string; example: string; deprecated: string }) =>
	[type.has_schema && texts.schema, type.has_example && texts.example, type.deprecated && texts.deprecated].filter(Boolean).join(" · ") || "–";
