import { Skeleton } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useEffect, useRef, useState } from "react";
import { useShortcuts } from "../app/shortcuts";
import { type More, MoreFailed } from "./more";
import classes from "./VirtualTable.module.css";

export type Column<R> = { title: string; width: string; cell: (row: R) => ReactNode };

type Props<R> = {
	label: string;
	columns: Column<R>[];
	/** rows are those in memory; first is the place of the first of them in the whole list. */
	rows: R[];
	first: number;
	keyOf: (row: R) => string;
	more: More;
};

const rowHeight = 40; // px

/**
 * VirtualTable draws the visible rows of a long list. Rows before first were dropped and are
 * fetched again when they come into view. j and k move between rows, Enter opens: the focus is
 * on the row's link, which its cell marks with data-row-link.
 */
export function VirtualTable<R>({ label, columns, rows, first, keyOf, more: { hasNext, fetchNext, fetchPrevious, failed } }: Props<R>) {
	const scroller = useRef<HTMLDivElement>(null);
	const [active, setActive] = useState(-1);
	const count = first + rows.length;
	const virtual = useVirtualizer({
		count,
		getScrollElement: () => scroller.current,
		estimateSize: () => rowHeight,
		overscan: 8,
		getItemKey: (index) => (rows[index - first] ? keyOf(rows[index - first]!) : index),
	});
	const visible = virtual.getVirtualItems();
	const top = visible[0]?.index ?? 0;
	const bottom = visible.at(-1)?.index ?? 0;
	useEffect(() => {
		if (hasNext && bottom >= count - 20) fetchNext();
		else if (first > 0 && top < first + 20) fetchPrevious();
	});

	const move = (by: number) => {
		const next = Math.min(count - 1, Math.max(first, active + by));
		setActive(next);
		virtual.scrollToIndex(next);
	};
	useShortcuts({ j: () => move(1), k: () => move(-1) });
	useEffect(() => {
		const row = scroller.current?.querySelector(`[aria-rowindex="${active + 2}"]`);
		// A button of the row keeps the focus: a table that scrolls would move away from under a click.
		if (row && !row.contains(document.activeElement)) row.querySelector<HTMLElement>("[data-row-link]")?.focus();
	}, [active]);

	const grid = { "--columns": columns.map((column) => column.width).join(" ") } as CSSProperties;
	return (
		<>
			<div ref={scroller} className={classes.scroller}>
				<div role="table" aria-label={label} aria-rowcount={hasNext ? -1 : count + 1} className={classes.table} style={grid}>
					<div role="rowgroup" className={classes.head}>
						<div role="row" aria-rowindex={1} className={classes.row}>
							{columns.map((column) => (
								<div key={column.title} role="columnheader">
									{column.title}
								</div>
							))}
						</div>
					</div>
					<div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize() }}>
						{visible.map(({ index, key, start }) => {
							const row = rows[index - first];
							return (
								<div
									key={key}
									role="row"
									aria-rowindex={index + 2}
									className={classes.row}
									style={{ transform: `translateY(${start}px)` }}
									onFocus={() => setActive(index)}
									onClick={(event) => {
										const target = event.target as HTMLElement;
										if (!target.closest("a,button") && !window.getSelection()?.toString()) event.currentTarget.querySelector<HTMLElement>("[data-row-link]")?.click();
									}}
								>
									{columns.map((column) => (
										<div key={column.title} role="cell">
											{row ? column.cell(row) : <Skeleton height={12} width="60%" />}
										</div>
									))}
								</div>
							);
						})}
					</div>
				</div>
			</div>
			{failed && <MoreFailed {...failed} />}
		</>
	);
}
