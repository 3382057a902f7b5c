// Every screen of both sides in the other languages: no English is left, nothing is cut off or
// overlaps, axe finds nothing.
import { join } from "node:path";
import { counted, expect, failures, fits, launch, lookFor, visit } from "../../hubtest/browser/check.mjs";
import { englishOf } from "./catalogues.mjs";
import { logInAccount } from "./accounts.mjs";
import { logIn, place } from "./console.mjs";

const sizes = [{ width: 390, height: 844 }, { width: 1280, height: 900 }];

// texts returns what the page says, in its text and in its labels.
const texts = () => {
	const found = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("script, style, [translate=no]")) found.push(walker.currentNode.data.trim());
	for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]")) {
		for (const name of ["aria-label", "title", "placeholder", "alt"]) if (element.getAttribute(name)) found.push(element.getAttribute(name).trim());
	}
	return [...new Set(found.filter(Boolean))];
};

// examine holds the page that is shown to what it is to be. axe is slow: with two languages each
// screen is looked at in each size and theme, with one in two of the four.
async function examine(page, name, locale, english) {
	const left = (await page.evaluate(texts)).filter((text) => english(text) && !place.names.includes(text));
	expect(left.length === 0, `${name} is not translated: ${left.join(" | ")}`);
	for (const [index, viewport] of sizes.entries()) {
		await page.setViewportSize(viewport);
		const themes = locale === "en" ? ["light", "dark"] : [["light", "dark"][(index + (locale === "es" ? 1 : 0)) % 2]];
		for (const colorScheme of themes) {
			await page.emulateMedia({ colorScheme });
			const found = await lookFor(page, "light");
			expect(found === "", `axe on ${name} (${viewport.width}, ${colorScheme}): ${found}`);
			await picture(page, `${name}-${viewport.width}-${colorScheme}`);
		}
		const wrong = await page.evaluate(fits);
		expect(wrong.length === 0, `${name} (${viewport.width}): ${wrong.join(" | ")}`);
	}
	await page.emulateMedia({ colorScheme: "light" });
}

// With HUB_SCREENSHOTS pictures are kept, in English too.
const pictures = process.env.HUB_SCREENSHOTS;
const locales = pictures ? ["en", "pt-BR", "es"] : ["pt-BR", "es"];

async function picture(page, name) {
	if (pictures) await page.screenshot({ path: join(pictures, `${name.replace(/[0-9a-f-]{36}/, "id").replaceAll(/[^\w-]+/g, "_")}.png`), fullPage: true });
}

// go opens a path without loading the page anew, and waits until its screen is drawn.
async function go(page, path) {
	await page.evaluate((path) => {
		if (location.pathname + location.search === path) return;
		document.querySelector("#content").firstElementChild?.setAttribute("data-left", "");
		history.pushState({}, "", path);
	}, path);
	await page.waitForFunction(() => document.querySelector("#content h1") && !document.querySelector("#content [data-left], #content .mantine-Skeleton-root"));
	await page.evaluate(() => document.fonts.ready);
}

// side visits all screens of an operator or of a product's account.
async function side(browser, locale, { product, email, password, paths }) {
	const english = await englishOf(place.modules, locale);
	const page = await visit(browser, { locale, viewport: sizes[1] });
	const name = product ?? "operators";
	await page.goto(place.url + (product ? `/login?as=${product}` : "/login"));
	await page.waitForSelector("input[name=email]");
	await examine(page, `${locale} login of ${name}`, locale, english);
	await (product ? logInAccount(page, password, email) : logIn(page));
	await page.waitForSelector("#content h1");
	for (const path of paths) {
		await go(page, product ? `/account/${product}${path}` : path).catch((error) => failures.push(`${locale} ${name} ${path}: ${error}`));
		await examine(page, `${locale} ${name} ${path}`, locale, english);
	}
	await page.context().close();
}

const began = Date.now();
const browser = await launch();
try {
	for (const locale of locales) await Promise.all(place.sides.map((visited) => side(browser, locale, visited).catch((error) => failures.push(`${locale} ${visited.product}: ${error.stack}`))));
} finally {
	await browser.close();
}
console.log(`${counted()} checks, ${failures.length} failed, in ${((Date.now() - began) / 1000).toFixed(1)} s`);
for (const failure of failures) console.log(`- ${failure}`);
process.exitCode = failures.length || !counted() ? 1 : 0;
