/** pollingOf returns how often a list is read again by itself: with several pages not at all, as each of them would be. */
export const pollingOf =
	(interval: number) =>
	({ state }: { state: { data?: { pages: unknown[] } } }): number | false =>
		(state.data?.pages.length ?? 0) > 1 ? false : interval;
