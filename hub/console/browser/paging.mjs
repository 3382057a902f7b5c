import { api, expect, open, run, shows } from "./console.mjs";

const scroller = (page) => page.locator("[role=table]").locator("..");
const step = 12; // rows

// walk scrolls from one row to another and returns the links that it saw, by their row.
async function walk(page, from, to) {
	const found = new Map();
	for (let at = from; from < to ? at <= to : at >= to; at += from < to ? step : -step) {
		await scroller(page).evaluate((element, top) => { element.scrollTop = top; }, Math.max(0, at * 40 - 300));
		await page.locator(`[aria-rowindex="${at}"] [data-row-link]`).waitFor();
		const rows = await page.evaluate(() => [...document.querySelectorAll("[data-row-link]")].map((link) => [Number(link.closest("[role=row]").getAttribute("aria-rowindex")), link.getAttribute("href").match(/[0-9a-f-]{36}/)[0]]));
		for (const [index, id] of rows) found.set(index, id);
	}
	return found;
}

// logged returns the ids of the log, newest first, by the row that shows them.
async function logged() {
	const ids = [];
	for (let cursor = ""; cursor !== null; ) {
		const page = await api("GET", `/deliveries?limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
		ids.push(...page.items.map(({ id }) => id));
		cursor = page.next_cursor;
	}
	return new Map(ids.map((id, at) => [at + 2, id]));
}

function expectSame(found, wanted, what) {
	const wrong = [...found].filter(([index, id]) => wanted.get(index) !== id);
	expect(found.size > 600 && wrong.length === 0, `${what}: ${wrong.length} of ${found.size} rows are wrong, the first is ${wrong[0]}`);
}

const last = 2 + 60 * step; // on the eighth page: six are kept

async function comesBack(browser) {
	const wanted = await logged();
	const page = await open(browser, "/deliveries");
	expectSame(await walk(page, 2, last), wanted, "down");
	await page.locator(`[aria-rowindex="${last}"] [data-row-link]`).click();
	await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
	await page.goBack();
	await page.locator("[role=table]").waitFor();
	expectSame(await walk(page, 2, last), wanted, "after Back");
}

// The first page is as it was when the second was read, however many came since.
async function grows(browser) {
	const wanted = await logged();
	const page = await open(browser, "/deliveries");
	await walk(page, 2, last);
	await api("POST", "/events/batch", { events: Array.from({ length: 30 }, (_, n) => ({ event_type: "order.later", data: { n } })) });
	expectSame(await walk(page, last, 2), wanted, "up while the log grows");
	await page.getByRole("button", { name: "Refresh" }).click();
	await shows(page, "order.later");
}

async function fails(browser) {
	const wanted = await logged();
	const page = await open(browser, "/deliveries");
	let asked = 0;
	await page.route("**/api/v1/deliveries?*cursor=*", (route) => (asked++, route.abort()));
	await page.locator('[aria-rowindex="2"] [data-row-link]').waitFor();
	await scroller(page).evaluate((element) => { element.scrollTop = element.scrollHeight; });
	await page.getByRole("button", { name: "Try again" }).waitFor();
	await page.locator('[aria-rowindex="101"] [data-row-link]').waitFor();
	await scroller(page).evaluate((element) => { element.scrollTop = 0; });
	await page.locator('[aria-rowindex="2"] [data-row-link]').waitFor();
	expect(asked === 2, `the page was asked for ${asked} times`); // once more by itself
	await page.unroute("**/api/v1/deliveries?*cursor=*");
	await page.getByRole("button", { name: "Try again" }).click();
	expectSame(await walk(page, 2, last), wanted, "after another try");
	expect(await page.getByRole("button", { name: "Try again" }).count() === 0, "nothing is to be tried again");
}

// Lists that are read again by themselves are not once they have several pages; and the log asks
// for no tenant, whose name its rows have.
async function rests(browser) {
	const page = await open(browser, "/deliveries");
	const asked = [];
	page.on("request", (request) => request.url().includes("/api/v1/") && asked.push(request.url()));
	await page.clock.install();
	await page.reload();
	await shows(page, "Corner Bakery");
	expect(!asked.some((url) => url.includes("/tenants/")), `the log asks for no tenant: ${asked}`);
	await page.getByRole("navigation").getByRole("link", { name: "API keys" }).click();
	await page.locator("h1", { hasText: "API keys" }).waitFor(); // the log has a second row, too
	await page.locator('[aria-rowindex="2"] [data-row-link]').waitFor();
	await scroller(page).evaluate((element) => { element.scrollTop = element.scrollHeight; });
	await page.locator('[aria-rowindex="102"] [data-row-link]').waitFor();
	asked.length = 0;
	await page.clock.fastForward(40_000);
	await api("GET", "/session").catch(() => {});
	expect(!asked.some((url) => url.includes("/keys")), `two pages are not read again: ${asked}`);
}

await run(comesBack, grows, fails, rests);
