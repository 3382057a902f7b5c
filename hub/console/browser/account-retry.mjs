// The log of an account with a delivery that was delivered and one that failed: search, and send
// again.
import { openAccount } from "./accounts.mjs";
import { expect, look, place, run, shows } from "./console.mjs";

const base = `${place.url}/account/${place.product}`;
const rows = (page, count) => page.waitForFunction((count) => document.querySelectorAll("[data-row-link]").length === count, count);
const row = (page, type) => page.getByRole("row").filter({ hasText: type });

async function retries(browser) {
	const page = await openAccount(browser, "/log");
	await rows(page, 2);
	await row(page, place.delivered).getByText("Delivered").waitFor();
	await row(page, place.failed).getByText("500").waitFor();
	await look(page, `account-log-rows-${place.product}`);
	await page.getByLabel("Status", { exact: true }).selectOption("delivered");
	await rows(page, 1);
	await page.getByRole("link", { name: place.delivered }).click();
	await shows(page, place.delivered, "h1");
	await shows(page, place.receiver);
	const fact = (name) => page.locator("dl > div").filter({ has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator(".mono").first();
	const delivered = await fact("Event").innerText();
	// The search of the shell finds an event of the log, from any screen, and says what it searches.
	for (const screen of ["/keys", "/connect"]) {
		await page.goto(base + screen);
		await page.waitForSelector("#content h1");
		await page.locator("h1").click();
		await page.keyboard.press("/");
		expect((await page.locator("input[type=search]:focus").getAttribute("placeholder")) === "Search the log by event, delivery or correlation id", "the search says that it searches the log");
		await page.keyboard.type(delivered);
		await page.keyboard.press("Enter");
		await page.waitForURL(`${base}/log?q=${delivered}`);
		await rows(page, 1);
		await row(page, place.delivered).waitFor();
	}
	await page.getByRole("button", { name: `Remove the filter q:${delivered}` }).click();
	await rows(page, 2);
	// What failed is sent again, and is delivered.
	await page.getByRole("link", { name: place.failed }).click();
	await shows(page, "the calendar is locked");
	await shows(page, "Why it waits");
	await look(page, `account-delivery-failed-${place.product}`);
	await fetch(`${place.server}/open`);
	const answered = page.waitForResponse((response) => response.url().endsWith("/retry"));
	await page.getByRole("button", { name: "Send again" }).click();
	expect((await answered).status() === 202, "it is sent again");
	await page.locator("article").getByText("Delivered", { exact: true }).waitFor();
	await page.getByText("Why it waits").waitFor({ state: "detached" });
	await page.getByRole("link", { name: "Webhook log" }).first().click();
	await page.waitForFunction(() => [...document.querySelectorAll("[role=row]")].filter((row) => row.textContent.includes("Delivered")).length === 2);
}

await run(retries);
