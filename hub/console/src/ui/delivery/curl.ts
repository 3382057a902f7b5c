import type { Attempt, Delivery } from "./types";

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** curlOf returns the request of an attempt as a command; secrets are $HUB_KEY. */
export function curlOf(delivery: Delivery, attempt: Attempt | undefined, url: string): string {
	const lines = [`curl --request POST ${quote(url)}`];
	for (const [name, value] of Object.entries(attempt?.request_headers ?? { "Content-Type": "application/json" })) {
		// A signature is of the body as it was sent: it is made anew, not copied.
		if (/signature/i.test(name)) continue;
		lines.push(value.includes("***") ? `--header "${name}: $HUB_KEY"` : `--header ${quote(`${name}: ${value}`)}`);
	}
	lines.push(`--data-raw ${quote(delivery.payload_text ?? "")}`);
	return lines.join(" \\\n  ");
}
