import { type InfiniteData, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { type RefObject, useEffect, useRef, useState } from "react";
import { bodyOf, client, type Environment } from "../../api/client";
import { filtersOf } from "../../ui/deliveries/apiFilters";
import { type Listed, type Page, type Row, rowOf } from "../../ui/deliveries/paging";
import type { DeliverySearch } from "../../ui/deliveries/search";

/** Tail is what came since the list was read. */
export type Tail = {
	/** rows are shown above the list, newest first; held ones wait for show. */
	rows: Row[];
	held: number;
	dropped: number;
	state: "connecting" | "open" | "lost";
	isSlow: boolean;
	show: () => void;
	clear: () => void;
};

const keptRows = 500; // shown and held, each
const gatherFor = 250; // ms
const gatherSlowly = 1000; // ms, while the browser draws fewer than minFrames
const minFrames = 50; // per second
const reopenAfter = 2000; // ms

const newestFirst = (a: Row, b: Row) => (a.id < b.id ? 1 : -1);

type Held = { rows: Row[]; held: Row[]; dropped: number };

const nothing: Held = { rows: [], held: [], dropped: 0 };

// kept returns the newest rows, and how many are dropped.
function kept(rows: Row[]): [Row[], number] {
	const sorted = rows.sort(newestFirst);
	return [sorted.slice(0, keptRows), Math.max(0, sorted.length - keptRows)];
}

/**
 * useTail watches deliveries live. Rows of the list that change are updated in place. New rows
 * come above it only while nobody can be reading there: the pointer and the focus are elsewhere
 * and the list is at its top. Else they are held.
 */
export function useTail(enabled: boolean, environment: Environment, filters: DeliverySearch, queryKey: QueryKey, panel: RefObject<HTMLElement | null>): Tail {
	const queries = useQueryClient();
	const [state, setState] = useState<Tail["state"]>("connecting");
	const [shown, setShown] = useState(nothing);
	const [isSlow, setSlow] = useState(false);
	const slow = useRef(false);
	const key = JSON.stringify(queryKey);

	// biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the filters
	useEffect(() => {
		setShown(nothing);
		if (!enabled) return;
		setState("connecting");
		const params = new URLSearchParams();
		for (const [name, value] of Object.entries(filtersOf(environment, filters))) if (value !== undefined) params.set(name, String(value));
		const gathered = new Map<string, Row>();
		let missed = 0; // rows that were too many to gather
		let timer = 0;
		let frame = 0;
		const isRead = () => {
			const element = panel.current;
			return !element || element.matches(":hover") || element.contains(document.activeElement) || (element.firstElementChild?.scrollTop ?? 0) > 4;
		};
		const wait = () => {
			// Tabs that are not seen draw no frames.
			timer ||= window.setTimeout(() => (document.hidden ? flush() : (frame = requestAnimationFrame(flush))), slow.current ? gatherSlowly : gatherFor);
		};
		const flush = () => {
			timer = 0;
			if (queries.isFetching({ queryKey, exact: true }) > 0) return wait(); // a page that arrives puts back what its list was
			const rows = new Map(gathered);
			const lacking = missed;
			gathered.clear();
			missed = 0;
			updatePages(rows);
			setShown((was) => merged({ ...was, dropped: was.dropped + lacking }, rows, isRead()));
		};
		const updatePages = (rows: Map<string, Row>) =>
			queries.setQueryData<InfiniteData<Page>>(queryKey, (data) => {
				if (!data) return data;
				const pages = data.pages.map((page) => (page.rows.some((row) => rows.has(row.id)) ? { ...page, rows: page.rows.map((row) => taken(rows, row)) } : page));
				return { ...data, pages };
			});
		const gather = (message: MessageEvent<string>) => {
			const row = rowOf(JSON.parse(message.data) as Listed);
			gathered.delete(row.id);
			gathered.set(row.id, row);
			for (const [oldest] of gathered.size > keptRows ? gathered : []) {
				gathered.delete(oldest);
				missed++;
				break;
			}
			wait();
		};
		const close = openStream(`/api/v1/events/stream?${params}`, setState, gather, () => void queries.resetQueries({ queryKey, exact: true }));
		const stopCounting = countFrames((frames) => {
			slow.current = frames < minFrames;
			setSlow(slow.current);
		});
		return () => {
			close();
			window.clearTimeout(timer);
			cancelAnimationFrame(frame);
			stopCounting();
		};
	}, [enabled, key]);

	return {
		rows: shown.rows,
		held: shown.held.length,
		dropped: shown.dropped,
		state,
		isSlow,
		show: () => {
			panel.current?.firstElementChild?.scrollTo({ top: 0 });
			setShown((was) => {
				const [rows, dropped] = kept([...was.held, ...was.rows]);
				return { rows, held: [], dropped: was.dropped + dropped };
			});
		},
		clear: () => setShown(nothing),
	};
}

/**
 * openStream watches an address. The browser comes back by itself where the connection broke, but
 * not where a response was refused: then it is opened again here, and onBack reads what came
 * meanwhile. It returns what closes it.
 */
function openStream(address: string, onState: (state: Tail["state"]) => void, onDelivery: (message: MessageEvent<string>) => void, onBack: () => void): () => void {
	let source: EventSource;
	let timer = 0;
	let closed = false;
	const open = (again: boolean) => {
		source = new EventSource(address);
		source.onopen = () => {
			onState("open");
			if (again) onBack();
		};
		source.onerror = () => {
			onState("lost");
			if (source.readyState === EventSource.CLOSED) timer = window.setTimeout(() => void reopen(), reopenAfter);
		};
		source.addEventListener("delivery", onDelivery);
	};
	const reopen = async () => {
		// Scripts do not see why the stream was refused; where the session ended, this leads to the login.
		await bodyOf(client.GET("/api/v1/session")).catch(() => {});
		if (!closed) open(true);
	};
	open(false);
	return () => {
		closed = true;
		window.clearTimeout(timer);
		source.close();
	};
}

// taken returns the changed form of a row and removes it from what is new.
function taken(rows: Map<string, Row>, row: Row): Row {
	const changed = rows.get(row.id);
	rows.delete(row.id);
	return changed ?? row;
}

// merged adds what came: to the shown rows, or to the held ones while somebody reads.
function merged(was: Held, changed: Map<string, Row>, isRead: boolean): Held {
	const rest = new Map(changed);
	const rows = was.rows.map((row) => taken(rest, row));
	const [held, dropped] = kept([...rest.values(), ...was.held.filter((row) => !rest.has(row.id))]);
	if (isRead) return { rows, held, dropped: was.dropped + dropped };
	const [all, more] = kept([...held, ...rows]);
	return { rows: all, held: [], dropped: was.dropped + dropped + more };
}

// countFrames reports the frames of each second in which the page is visible.
function countFrames(report: (frames: number) => void): () => void {
	let frames = 0;
	let since = performance.now();
	let handle = requestAnimationFrame(function frame(now) {
		frames++;
		if (now - since >= 1000) {
			if (now - since < 3000) report((frames * 1000) / (now - since));
			frames = 0;
			since = now;
		}
		handle = requestAnimationFrame(frame);
	});
	return () => cancelAnimationFrame(handle);
}
