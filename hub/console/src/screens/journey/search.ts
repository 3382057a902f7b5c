import { matching } from "../../app/search";

export type JourneySearch = { correlation?: string };

export const journeySearch = (search: Record<string, unknown>): JourneySearch => ({ correlation: matching(/^\S.{0,199}$/, search.correlation) });
