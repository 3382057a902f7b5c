import type { Attempt } from "./types";

export const phases = ["queue", "dns", "connect", "tls", "first", "rest"] as const;

/** phasesOf returns the milliseconds of each phase; the rest is what the others leave of the total. */
export function phasesOf({ phases: p }: Attempt): Record<(typeof phases)[number], number> {
	const known = p.dns_ms + p.connect_ms + p.tls_ms + p.first_byte_ms;
	return { queue: p.queue_ms, dns: p.dns_ms, connect: p.connect_ms, tls: p.tls_ms, first: p.first_byte_ms, rest: Math.max(0, p.total_ms - known) };
}
