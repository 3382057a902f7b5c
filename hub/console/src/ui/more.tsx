import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { useLanguage } from "../i18n";
import { detailOf } from "./errors";
import layout from "./layout.module.css";

/** More is how a table gets the pages that it lacks. failed stands below it where a page could not be read. */
export type More = { hasNext: boolean; fetchNext: () => void; fetchPrevious: () => void; failed?: { error: unknown; isRetrying: boolean; onRetry: () => void } };

/** everything is of lists without further pages. */
export const everything: More = { hasNext: false, fetchNext: () => {}, fetchPrevious: () => {} };

/** moreOf reads pages of a list as they come into view. One that failed is asked for again only by hand. */
export function moreOf(list: UseInfiniteQueryResult<InfiniteData<unknown>>): More {
	const { isFetching, isFetchNextPageError: nextFailed, isFetchPreviousPageError: previousFailed } = list;
	const fetchNext = () => void list.fetchNextPage();
	const fetchPrevious = () => void list.fetchPreviousPage();
	const rests = isFetching || nextFailed || previousFailed;
	return {
		hasNext: list.hasNextPage,
		fetchNext: () => !rests && fetchNext(),
		fetchPrevious: () => !rests && fetchPrevious(),
		failed: nextFailed || previousFailed ? { error: list.error, isRetrying: isFetching, onRetry: nextFailed ? fetchNext : fetchPrevious } : undefined,
	};
}

/** MoreFailed says that a page of a list could not be read, and reads it again. */
export function MoreFailed({ error, isRetrying, onRetry }: NonNullable<More["failed"]>) {
	const { t } = useLanguage();
	return (
		<p role="alert" className={layout.bad}>
			{t.states.errorTitle}: {detailOf(error)}{" "}
			<Button size="compact-xs" variant="default" loading={isRetrying} onClick={onRetry}>
				{t.states.retry}
			</Button>
		</p>
	);
}
