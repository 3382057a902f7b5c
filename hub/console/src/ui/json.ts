// JSON as it is written: JavaScript's numbers would change large ones, long ones and -0.

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;
const opens = (token: string) => token === "{" || token === "[";
const closes = (token: string) => token === "}" || token === "]";

// Deeper values are not indented further: the text would grow with the square of its depth.
const deepest = 100;

/** indentedJSON returns a JSON text with a line for each member. Its values stay as they are written. */
export function indentedJSON(text: string): string {
	const parts: string[] = [];
	let depth = 0;
	let before = "";
	for (const [token] of text.matchAll(tokens)) {
		if (closes(token)) depth--;
		if (closes(token) ? !opens(before) : opens(before) || before === ",") parts.push(`\n${"  ".repeat(Math.min(depth, deepest))}`);
		parts.push(token === ":" ? ": " : token);
		if (opens(token)) depth++;
		before = token;
	}
	return parts.join("");
}

/** membersOf returns the members of a JSON object as they are written. */
export function membersOf(text: string): Record<string, string> {
	const members: Record<string, string> = {};
	let depth = 0;
	let name: string | undefined;
	let start = -1; // of the value
	let end = 0; // of the token before
	for (const match of text.matchAll(tokens)) {
		const [token] = match;
		if (depth === 1 && name !== undefined && start >= 0 && (token === "," || token === "}")) {
			members[name] = text.slice(start, end);
			start = -1;
			name = undefined;
		} else if (depth === 1 && name === undefined && token.startsWith('"')) {
			name = JSON.parse(token) as string;
		} else if (depth === 1 && start < 0 && token !== ":" && !closes(token)) {
			start = match.index;
		}
		if (opens(token)) depth++;
		if (closes(token)) depth--;
		end = match.index + token.length;
	}
	return members;
}

/** JSONText is a value that is sent as it is written. */
export class JSONText {
	constructor(readonly text: string) {}
}

/** writtenJSON returns an object as JSON; members that are a {@link JSONText} as they are written. */
export const writtenJSON = (object: object): string =>
	`{${Object.entries(object)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => `${JSON.stringify(name)}:${value instanceof JSONText ? value.text : JSON.stringify(value)}`)
		.join()}}`;
