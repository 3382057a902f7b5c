import type { InfiniteData, UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useLanguage } from "../i18n";
import layout from "./layout.module.css";
import { everything, moreOf } from "./more";
import { PageTitle } from "./PageTitle";
import { Empty, Failed, Loading, NothingMatches } from "./states";
import { type Column, VirtualTable } from "./VirtualTable";

type Props<R> = {
	title: string;
	lead: string;
	/** list is read page by page, or as a whole where it is short. */
	list: UseInfiniteQueryResult<InfiniteData<{ items: R[] }>> | UseQueryResult<R[]>;
	columns: Column<R>[];
	keyOf: (row: R) => string;
	/** filtered is whether the address narrows the list. */
	filtered?: boolean;
	onClear?: () => void;
	empty: { title: string; text: string; next: ReactNode };
	actions?: ReactNode;
	filters?: ReactNode;
	children?: ReactNode;
};

/** ListScreen is the page of a list: heading, filters, and its rows in one of their states. */
export function ListScreen<R>(props: Props<R>) {
	const { t } = useLanguage();
	const { list } = props;
	const rows = list.data === undefined ? [] : Array.isArray(list.data) ? list.data : list.data.pages.flatMap((part) => part.items);
	const hasNext = "hasNextPage" in list && list.hasNextPage;
	return (
		<div className={layout.full}>
			<div className={layout.top}>
				<div>
					<PageTitle title={props.title} />
					<p className="quiet">{props.lead}</p>
				</div>
				<span role="status" className="quiet">
					{list.isSuccess && t.ui.count(rows.length, hasNext)}
				</span>
				{props.actions}
			</div>
			{props.filters}
			<div className={`panel ${layout.list}`}>
				{list.isPending ? (
					<Loading rows={10} />
				) : list.isError && rows.length === 0 ? (
					<Failed error={list.error} onRetry={() => void list.refetch()} />
				) : rows.length > 0 ? (
					<VirtualTable
						label={props.title}
						columns={props.columns}
						keyOf={props.keyOf}
						rows={rows}
						first={0}
						more={"fetchNextPage" in list ? moreOf(list) : everything}
					/>
				) : props.filtered ? (
					<NothingMatches onClear={() => props.onClear?.()} />
				) : (
					<Empty title={props.empty.title} next={props.empty.next}>
						{props.empty.text}
					</Empty>
				)}
			</div>
			{props.children}
		</div>
	);
}
