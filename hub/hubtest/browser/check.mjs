// What every page is held to in a browser.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.HUB_BROWSER_MODULES, "packages.cjs"));
const { chromium } = require("playwright-core");

// launch starts a browser. Chromium itself can end with a segmentation fault at its start: then it
// is started again.
export async function launch(flags = []) {
	for (let attempt = 1; ; attempt++) {
		try {
			return await chromium.launch({ executablePath: process.env.HUB_BROWSER, args: ["--no-sandbox", "--disable-dev-shm-usage", ...flags] });
		} catch (error) {
			if (attempt === 3 || !String(error).includes("Segmentation fault")) throw error;
		}
	}
}

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const phone = { width: 360, height: 740 };
const desktop = { width: 1280, height: 900 };

export const failures = [];
let checks = 0;
export const counted = () => checks;

// expect notes a claim that does not hold.
export function expect(holds, claim) {
	checks++;
	if (!holds) failures.push(claim);
}

let visitors = 0;

// visit opens a browser window of a visitor with an address of their own.
export async function visit(browser, options = {}) {
	const context = await browser.newContext({
		viewport: phone, locale: "pt-BR", timezoneId: "America/Sao_Paulo", reducedMotion: "reduce",
		extraHTTPHeaders: { "X-Forwarded-For": `10.20.0.${++visitors}` }, ...options,
	});
	context.setDefaultTimeout(60000);
	const page = await context.newPage();
	page.on("pageerror", (error) => failures.push(`the script failed on ${page.url()}: ${error}`));
	page.on("console", (message) => {
		// The browser tells of every answer from 400 on; those are looked at where they belong.
		if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) failures.push(`${page.url()}: ${message.text()}`);
	});
	return page;
}

// Dark pages differ in nothing but their colours.
const rules = {
	light: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	dark: { type: "rule", values: ["color-contrast", "link-in-text-block"] },
};

// lookFor returns what axe finds on a page as it is shown. Style sheets and media are not fetched
// again for it: only rules that are not asked for read them, and it takes as long as all others.
export async function lookFor(page, colorScheme) {
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
	const found = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ["violations"], preload: false }), rules[colorScheme]);
	return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join(" | ")}`).join("; ");
}

// fits runs in the page: what is cut off, wider than the screen, or drawn over something else.
export function fits() {
	const wrong = [];
	const scroller = document.scrollingElement;
	if (scroller.scrollWidth > document.documentElement.clientWidth) wrong.push(`the page is ${scroller.scrollWidth} px wide`);
	const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !element.closest(".visually-hidden, [aria-hidden=true]");
	const named = (element) => `${element.tagName.toLowerCase()} “${(element.innerText || element.ariaLabel || element.name || "").trim().slice(0, 60)}”`;
	for (const element of document.querySelectorAll("button, button *, h1, h2, h3, th, label, legend, dt, nav a, [role=columnheader]")) {
		if (shown(element) && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) wrong.push(`cut off: ${named(element)}, ${element.scrollWidth} in ${element.clientWidth} px`);
	}
	// On a desktop nothing but code scrolls sideways.
	if (innerWidth >= 1280) {
		for (const box of document.querySelectorAll("main, main *")) {
			if (/auto|scroll/.test(getComputedStyle(box).overflowX) && shown(box) && !box.closest("pre, textarea, code") && box.scrollWidth > box.clientWidth + 1) wrong.push(`scrolls sideways: ${named(box)}, ${box.scrollWidth} in ${box.clientWidth} px`);
		}
	}
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (node) => (/^\s*\p{L}{2,}\s*$/u.test(node.data) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP));
	while (walker.nextNode()) {
		const range = document.createRange();
		range.selectNodeContents(walker.currentNode);
		if (shown(walker.currentNode.parentElement) && new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) wrong.push(`broken word: ${walker.currentNode.data.trim()}`);
	}
	// What is meant to lie over the rest, or scrolls under it, is no overlap: only what is in the same
	// box that scrolls or is placed by itself can be.
	const boxOf = (element) => {
		for (let box = element.parentElement; box; box = box.parentElement) {
			const { overflow, position } = getComputedStyle(box);
			if (/auto|scroll/.test(overflow) || /absolute|fixed|sticky/.test(position)) return box;
		}
		return null;
	};
	const items = [...document.querySelectorAll("button, a, input, select, textarea, h1, h2, h3, dt, th, [role=columnheader], kbd")]
		.filter((element) => shown(element) && getComputedStyle(element).position !== "absolute")
		.map((element) => ({ element, box: boxOf(element), rect: element.getBoundingClientRect() }))
		.filter(({ rect }) => rect.width > 1 && rect.height > 1);
	for (const [index, a] of items.entries()) {
		for (const b of items.slice(index + 1)) {
			if (a.box !== b.box || a.element.contains(b.element) || b.element.contains(a.element)) continue;
			const width = Math.min(a.rect.right, b.rect.right) - Math.max(a.rect.left, b.rect.left);
			const height = Math.min(a.rect.bottom, b.rect.bottom) - Math.max(a.rect.top, b.rect.top);
			if (width > 2 && height > 2) wrong.push(`${named(a.element)} is drawn over ${named(b.element)}`);
		}
	}
	return wrong;
}

// settled runs in the page: it waits until open menus have stayed in their place for some frames.
// One that is still where it was in another size covers what axe looks at.
const settled = () =>
	new Promise((done) => {
		const places = () => [...document.querySelectorAll("[data-position]")].map((menu) => Object.values(menu.getBoundingClientRect().toJSON()).join()).join(" ");
		let [last, frames] = [places(), 0];
		const compare = () => {
			const now = places();
			frames = now === last ? frames + 1 : 0;
			last = now;
			if (now === "" || frames > 5) done();
			else requestAnimationFrame(compare);
		};
		compare();
	});

// check looks at a page on a phone and a desktop, light and dark: axe finds nothing, and
// nothing is wider than the screen. small is the phone's screen.
export async function check(page, name, small = phone) {
	for (const viewport of [small, desktop]) {
		const size = viewport.width;
		await page.setViewportSize(viewport);
		// What floats, such as an open menu, moves a moment after the resize.
		const overflow = () => document.scrollingElement.scrollWidth - document.documentElement.clientWidth;
		await page.waitForFunction(() => document.scrollingElement.scrollWidth <= document.documentElement.clientWidth, undefined, { timeout: 5000 }).catch(() => {});
		await page.evaluate(settled);
		const wide = await page.evaluate(overflow);
		expect(wide <= 0, `${name} is ${wide} px wider than a screen of ${size}`);
		for (const colorScheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme });
			const found = await lookFor(page, colorScheme);
			expect(found === "", `axe on ${name} (${size}, ${colorScheme}): ${found}`);
			if (process.env.HUB_SCREENSHOTS) {
				await page.screenshot({ path: join(process.env.HUB_SCREENSHOTS, `${name}-${size}-${colorScheme}.png`), fullPage: true });
			}
		}
	}
	await page.emulateMedia({ colorScheme: "light" });
	await page.setViewportSize(small);
}

// tabTo presses Tab until what has the focus fits, and requires that one sees where it is.
export async function tabTo(page, name, fits) {
	for (let presses = 0; presses < 120; presses++) {
		await page.keyboard.press("Tab");
		const seen = await page.evaluate((source) => {
			const at = document.activeElement;
			if (!at || !new Function("at", `return ${source}`)(at)) return null;
			const shown = at.matches("input[type=radio]") ? at.nextElementSibling : at;
			const style = getComputedStyle(shown);
			return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
		}, fits);
		if (seen !== null) {
			expect(seen, `${name}: the focus is not seen`);
			return;
		}
	}
	throw new Error(`${name} cannot be reached with the keyboard on ${page.url()}`);
}
