import { matching } from "../../app/search";

/** ShownSearch is which attempt of a delivery is shown, and which is compared with it. */
export type ShownSearch = { attempt?: string; with?: string };

const number = /^[1-9]\d{0,4}$/;

export const shownSearch = (search: Record<string, unknown>): ShownSearch => ({ attempt: matching(number, search.attempt), with: matching(number, search.with) });
