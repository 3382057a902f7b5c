// The console's texts, read from their sources.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const source = new URL("../src/", import.meta.url);
// A catalogue's file, the parts that it imports, and what it exports.
const catalogues = [["i18n/", [""], "messages"], ["i18n/screens.", [], "screens"], ["account/i18n/", ["clinic.", "messaging."], "messages"]];

// read returns the texts of a language, of each catalogue.
async function read(modules, locale) {
	const ts = createRequire(import.meta.url)(join(modules, "typescript"));
	const dir = mkdtempSync(join(tmpdir(), "catalogues-"));
	try {
		const write = (file) => {
			const { outputText } = ts.transpileModule(readFileSync(new URL(file, source), "utf8"), { compilerOptions: { module: "ESNext", target: "ES2022" } });
			const made = join(dir, `${basename(file, ".ts")}.mjs`);
			writeFileSync(made, outputText.replaceAll(/from "\.\/([^"]+)"/g, 'from "./$1.mjs"'));
			return made;
		};
		const all = [];
		for (const [path, parts, name] of catalogues) {
			for (const part of parts) if (part) write(`${path}${part}${locale}.ts`);
			all.push((await import(`${pathToFileURL(write(`${path}${locale}.ts`))}?${path}`))[name]);
		}
		return all;
	} finally {
		rmSync(dir, { recursive: true });
	}
}

const names = ["Integration Hub", "WhatsApp Cloud API"]; // the same in every language
const value = 7919; // of the texts that have values

// leaves calls take with each text of an English catalogue and that of another language; texts
// with values come with the value above, and with 1.
function leaves(english, other, take) {
	if (typeof english === "string") take(english, other);
	else if (typeof english === "function") {
		for (const args of [[value, value, value], [value, 0, 0], [1, 1, 1]]) take(english(...args), other(...args));
	} else for (const key of Object.keys(english)) leaves(english[key], other[key], take);
}

// englishOf returns whether a text is English that has another text in a language.
export async function englishOf(modules, locale) {
	if (locale === "en") return () => false;
	const [english, other] = [await read(modules, "en"), await read(modules, locale)];
	const own = new Set();
	const exact = new Set();
	const patterns = [];
	leaves(other, other, (text) => own.add(text));
	leaves(english, other, (text, translated) => {
		if (text === translated && /\p{L} \p{L}/u.test(text) && !names.includes(text)) throw new Error(`${locale} has the English text “${text}”`);
		if (text === translated || own.has(text)) return;
		const parts = text.split(String(value));
		if (parts.length === 1) exact.add(text.trim());
		else if (/[a-z]{3}/i.test(parts.join(""))) patterns.push(new RegExp(`^${parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".{1,80}")}$`, "s"));
	});
	if (exact.size < 300 || patterns.length < 20) throw new Error(`the catalogues have ${exact.size} texts and ${patterns.length} patterns`);
	return (text) => exact.has(text) || patterns.some((pattern) => pattern.test(text));
}
