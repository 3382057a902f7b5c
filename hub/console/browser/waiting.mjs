import { expect, look, open, place, run, shows } from "./console.mjs";

// Why deliveries wait, and what releases them.
async function waits(browser) {
	const page = await open(browser, `/deliveries/${place.parked}`);
	await shows(page, "Why it waits");
	await shows(page, "The receiver is disabled.");
	await shows(page, "enabling the receiver");
	await shows(page, "Fails for good");
	await look(page, "delivery-waiting");
	await page.goto(`${place.url}/deliveries/${place.refused}`);
	await page.locator("[data-cause]").waitFor();
	const cause = await page.locator("[data-cause]").getAttribute("data-cause");
	expect(["retry_scheduled", "attempt_under_way", "trial_scheduled", "trial_under_way"].includes(cause), `a refused delivery waits because of ${cause}`);
	await page.goto(`${place.url}/deliveries?status=delivered`);
	await page.locator("[data-row-link]").first().click();
	await page.getByText("Attempt 1").waitFor();
	expect(await page.getByText("Why it waits").count() === 0, "what was delivered does not wait");
}

// Two attempts beside each other.
async function compares(browser) {
	const page = await open(browser, `/deliveries/${place.refused}`);
	const button = page.getByRole("button", { name: "Compare attempts" });
	await button.click(); // the second attempt comes after a second
	await shows(page, "Two attempts compared");
	const row = (name) => page.getByRole("row", { name });
	expect((await row(/^Answer/).innerText()).match(/500/g)?.length === 2, "both answers are shown");
	expect(await row(/webhook-timestamp/).getAttribute("data-differs") === "true", "what differs is marked");
	expect(await row(/webhook-id/).getAttribute("data-differs") === null, "what is the same is not");
	await shows(page, "the stock is locked", "table");
	await look(page, "delivery-compared");
	const address = page.url();
	expect(/attempt=1&with=\d|with=\d&attempt=1/.test(address), `the address has both attempts: ${address}`);
	await page.goto(address);
	await shows(page, "Two attempts compared");
	await page.getByLabel("Second attempt").selectOption("1");
	await shows(page, "The two attempts differ in nothing but their time.");
	await page.getByRole("button", { name: "Show one attempt" }).click();
	await page.waitForURL((url) => !url.search.includes("with="));
}

await run(waits, compares);
