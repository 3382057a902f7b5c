/**
 * instantOf returns the time that a person typed, or undefined. A text without a zone is in UTC
 * where that is chosen, else in the browser's zone; one without a time of day is its midnight.
 */
export function instantOf(text: string, utc: boolean): string | undefined {
	if (!/^\d{4}-\d\d-\d\d/.test(text)) return undefined;
	const full = text.length === 10 ? `${text}T00:00` : text;
	const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(full.slice(10));
	const at = new Date(hasZone || !utc ? full : `${full}Z`);
	return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
