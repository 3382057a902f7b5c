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
	expect((await row(/^Status/).innerText()).match(/500/g)?.length === 2, "both answers are shown");
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

// Which priority a delivery has, where it is not the normal one.
async function priorities(browser) {
	const page = await open(browser, `/deliveries/${place.ping}`);
	await shows(page, "high: before all others", "dl");
	await page.goto(`${place.url}/deliveries/${place.bulk}`);
	await shows(page, "bulk: after the others", "dl");
	await look(page, "delivery-bulk");
	await page.goto(`${place.url}/deliveries/${place.parked}`);
	await shows(page, "Why it waits");
	expect((await page.getByText("Priority", { exact: true }).count()) === 0, "a normal priority is not worth a line");
	expect((await page.getByText("Ordering key", { exact: true }).count()) === 0, "an event without a key has no line for it");
	expect((await page.getByRole("button", { name: "Discard" }).count()) === 0, "nothing waits behind a delivery without a key");
}

const dialog = (page) => page.getByRole("dialog");
const again = (page) => page.getByRole("button", { name: "Send again" });
const discard = (page) => page.getByRole("button", { name: "Discard" });

// A delivery that is behind another of its key, the one that goes first, and the end of its wait.
async function order(browser) {
	const [first, second, third] = place.inOrder;
	const page = await open(browser, `/deliveries?endpoint=${place.ordered}&status=pending`);
	await shows(page, "Behind another", "[role=table]");
	expect((await page.getByText("Behind another").count()) === 2, "the two behind the first say so");
	await look(page, "deliveries-behind");
	await page.goto(`${place.url}/deliveries/${third}`);
	await shows(page, "An earlier delivery of the same ordering key goes first.");
	await shows(page, "discarding the delivery that goes first");
	await shows(page, "sku-7", "dl");
	await discard(page).waitFor(); // it may be given up before its turn
	expect((await again(page).count()) === 0, "it goes in its turn, not before");
	await look(page, "delivery-behind");
	const link = page.getByRole("link", { name: "Open the one that is sent next" });
	await link.focus();
	await page.keyboard.press("Enter");
	await page.waitForURL(new RegExp(`/deliveries/${first}`));
	await shows(page, "The receiver is disabled.");
	await again(page).waitFor();
	const behind = page.locator("[data-cause] dl div").filter({ hasText: "Waiting behind it" });
	expect((await behind.locator("dd").innerText()) === "2", "the first says how many are behind it");
	await discard(page).focus();
	await page.keyboard.press("Enter");
	await shows(page, "The first of the 2 behind it is sent next.", "[role=dialog]");
	await look(page, "delivery-discard");
	const conflict = { status: 409, contentType: "application/problem+json", body: '{"status":409,"code":"attempt_under_way","detail":"An attempt of this delivery is under way; try again in a few seconds."}' };
	await page.route("**/discard", (route) => route.fulfill(conflict));
	await dialog(page).getByRole("button", { name: "Discard" }).click();
	await shows(page, "That did not work. An attempt of this delivery is under way", "[role=dialog]");
	await page.unroute("**/discard");
	await dialog(page).getByRole("button", { name: "Discard" }).click();
	await dialog(page).waitFor({ state: "hidden" });
	await shows(page, "discarded by an administrator", "dl");
	await shows(page, "Failed", "article");
	expect((await discard(page).count()) === 0, "what has failed waits no more");
	expect((await again(page).count()) === 0, "what was discarded is not sent again");
	// The next one is the first now, and the others wait for it.
	await page.goto(`${place.url}/deliveries/${third}`);
	await link.click();
	await page.waitForURL(new RegExp(`/deliveries/${second}`));
	await page.goto(`${place.url}/deliveries/${place.outOfOrder}`);
	await shows(page, "Out of order: it was sent again or recovered", "dl");
	expect((await discard(page).count()) === 0, "what has left the order has no place to give up");
}

// Support sees the order and cannot end it.
async function supportReads(browser) {
	const { email } = place;
	place.email = "bea@example.com";
	const page = await open(browser, `/deliveries/${place.inOrder[2]}`);
	place.email = email;
	await shows(page, "An earlier delivery of the same ordering key goes first.");
	await page.getByRole("button", { name: "Copy link" }).waitFor();
	expect((await discard(page).count()) === 0, "support discards nothing");
}

await run(waits, compares, priorities, order, supportReads);
