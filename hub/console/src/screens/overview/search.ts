import { oneOf } from "../../app/search";

export const ranges = ["hour", "day", "week", "month"] as const;
export type Range = (typeof ranges)[number];

/** OverviewSearch is the screen's state in the URL; without a range it is a day. */
export type OverviewSearch = { range?: Exclude<Range, "day"> };

export const overviewSearch = (search: Record<string, unknown>): OverviewSearch => ({ range: oneOf(["hour", "week", "month"], search.range) });
