import { useQuery } from "@tanstack/react-query";
import { type Language, useLanguage } from "../../../i18n";
import { type InboxEntry, zoneQuery } from "./queries";

/** zonedTime returns a day and a time of a zone, with the zone; of one that the browser does not know in UTC. */
function zonedTime(language: Language, timeZone: string, at: Date): string {
	const parts = { day: "numeric", month: "short", year: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" } as const;
	try {
		return new Intl.DateTimeFormat(language, { ...parts, timeZone }).format(at);
	} catch {
		return new Intl.DateTimeFormat(language, { ...parts, timeZone: "UTC" }).format(at);
	}
}

/** Summary is what an entry says. The time of its appointment is the clinic's, in the reader's language. */
export function Summary({ entry: { summary, starts_at } }: { entry: InboxEntry }) {
	const { language } = useLanguage();
	const zone = useQuery({ ...zoneQuery, enabled: starts_at !== null }).data ?? "UTC";
	if (!summary) return "–";
	return starts_at ? summary.replace(starts_at, () => zonedTime(language, zone, new Date(starts_at))) : summary;
}
