// The log of a product's account, and one delivery of it.
import { expect, look, place, run, shows, tryAgain } from "./console.mjs";
import { openAccount } from "./accounts.mjs";

const base = `${place.url}/account/${place.product}`;
const rows = (page, count) => page.waitForFunction((count) => document.querySelectorAll("[data-row-link]").length === count, count);

async function log(browser) {
	const page = await openAccount(browser, "/log");
	await shows(page, place.type);
	expect((await page.getByText(place.other).count()) === 0, "what belongs to another account is not shown");
	await look(page, `account-log-${place.product}`);
	await page.fill("input[name=token]", `type:${place.type}`);
	await page.keyboard.press("Enter");
	await page.waitForURL(/type=/);
	await rows(page, 1);
	await page.fill("input[name=token]", "tenant:019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11");
	await page.keyboard.press("Enter");
	await shows(page, "is not a filter");
	await page.getByLabel("Direction", { exact: true }).selectOption("inbound");
	await shows(page, "Nothing matches these filters");
	await look(page, `account-log-nothing-${place.product}`);
	await page.getByRole("button", { name: "Clear filters" }).click();
	await rows(page, 1);
	expect(page.url() === `${base}/log`, `the address has no filters: ${page.url()}`);
	// A person's number finds their events, and is no part of the address.
	const field = page.getByLabel("About a phone number");
	await field.fill("(11) 90000-0000");
	await field.press("Enter");
	await shows(page, "Nothing matches these filters");
	await field.fill(place.phone);
	await field.press("Enter");
	await rows(page, 1);
	expect(page.url() === `${base}/log`, `the number is not in the address: ${page.url()}`);
	// The search of the shell finds an id that was copied.
	await page.keyboard.press("Escape");
	await page.locator("h1").click();
	await page.keyboard.press("/");
	await page.keyboard.type("evt_nothing");
	await page.keyboard.press("Enter");
	await page.waitForURL(/q=evt_nothing/);
	await shows(page, "Nothing matches these filters");
	await page.getByText("Test", { exact: true }).click();
	await page.goto(`${base}/log?environment=test`);
	await shows(page, "Nothing was sent or received yet");
	await look(page, `account-log-empty-${place.product}`);
}

async function delivery(browser) {
	const page = await openAccount(browser, "/log", undefined, { permissions: ["clipboard-read", "clipboard-write"] });
	await page.locator("[data-row-link]").first().waitFor();
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await shows(page, place.type, "h1");
	await shows(page, place.receiver);
	await shows(page, "the warehouse is closed");
	await shows(page, "Why it waits");
	await shows(page, "First byte");
	await look(page, `account-delivery-${place.product}`);
	await page.keyboard.press("c");
	await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("curl"));
	const curl = await page.evaluate(() => navigator.clipboard.readText());
	expect(curl.includes(place.receiver) && !/signature|whsec|sha256=/i.test(curl), `the command has the address and no secret: ${curl}`);
	const answered = page.waitForResponse((response) => response.url().endsWith("/retry"));
	await page.getByRole("button", { name: "Send again" }).click();
	expect((await answered).status() === 202, "it is sent again");
	await shows(page, "It will be sent again now.");
	await page.getByText("Open the integration").click();
	await page.waitForURL(/\/integrations\/[0-9a-f-]{36}$/);
	await page.getByText("Show deliveries").click();
	await page.waitForURL(/\/log\?integration=/);
	await rows(page, 1);
}

// What is behind another of its key says so, and leads to it.
async function order(browser) {
	if (!place.patient) return;
	const address = `${place.url}/${place.product}/api/v1/patients/${place.patient}`;
	const changed = await fetch(address, { method: "PUT", headers: { Authorization: `Bearer ${place.token}`, "Content-Type": "application/json" }, body: '{"name":"Ana Maria Souza"}' });
	expect(changed.status === 200, `the patient is changed: ${changed.status}`);
	const page = await openAccount(browser, "/log?type=patient.updated");
	await shows(page, "Behind another", "[role=table]");
	await page.locator("[data-row-link]").click();
	await shows(page, "An earlier delivery of the same ordering key goes first.");
	expect((await page.getByRole("button", { name: "Send again" }).count()) === 0, "it goes in its turn");
	await page.getByRole("link", { name: "Open the one that is sent next" }).click();
	await shows(page, place.type, "h1");
	await shows(page, "Waiting behind it", "dl");
	expect((await page.getByRole("button", { name: "Discard" }).count()) === 0, "operators discard, accounts do not");
}

async function fails(browser) {
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	const page = await openAccount(browser, "/integrations");
	await page.goto(`${base}/log/${id}`);
	await shows(page, `There is no delivery ${id}.`);
	await look(page, `account-delivery-missing-${place.product}`);
	await page.goto(`${base}/log/nothing`);
	await shows(page, "There is no delivery nothing.");
	await page.route("**/webhook-logs?*", (route) => route.abort());
	await page.goto(`${base}/log`);
	await shows(page, "The hub does not respond.");
	await look(page, `account-log-error-${place.product}`);
	await page.unroute("**/webhook-logs?*");
	await tryAgain(page);
	await page.locator("[data-row-link]").first().waitFor();
	await page.route("**/webhook-logs/*", () => {});
	await page.locator("[data-row-link]").first().click();
	await page.getByRole("status", { name: "Loading" }).waitFor();
	await look(page, `account-delivery-loading-${place.product}`);
}

await run(log, delivery, order, fails);
