// The clinic's inbox: events that matched no patient.
import { openAccount } from "./accounts.mjs";
import { states } from "./accountstates.mjs";
import { expect, look, place, run, shows } from "./console.mjs";

const api = "**/clinic/api/v1/integrations/inbox?*";
const base = `${place.url}/account/clinic/inbox`;
const dialog = (page) => page.getByRole("dialog");
const rowOf = (page, text) => page.getByRole("row").filter({ hasText: text });

async function list(browser) {
	const page = await openAccount(browser, "/inbox?bogus=1&entry=x");
	await page.waitForURL(base);
	await shows(page, "Is the doctor there tomorrow?", "[role=table]");
	await rowOf(page, "Is the doctor there tomorrow?").filter({ hasText: "1 patient" }).waitFor();
	await look(page, "account-inbox");
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForURL(/entry=/);
	await dialog(page).waitFor();
	// The address leads a colleague to the same entry.
	await page.reload();
	await shows(page, "Event id", "[role=dialog]");
	await page.keyboard.press("Escape");
	await page.waitForURL(base);
	await page.goto(`${base}?entry=019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11`);
	await shows(page, "There is no entry of the inbox 019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11.", "[role=dialog]");
	await look(page, "account-inbox-missing");
}

// The time of an appointment is the clinic's, in the reader's language; the browser is elsewhere.
async function appointment(browser) {
	for (const [locale, time] of [["en-US", "Mar 2, 2026, 8:00 AM GMT-4"], ["pt-BR", "2 de mar. de 2026, 08:00 AMT"]]) {
		const page = await openAccount(browser, "/inbox", undefined, { locale, timezoneId: "Asia/Tokyo" });
		await shows(page, `Cleaning, Dr. Lima, ${time}`, "[role=table]");
		await rowOf(page, "Cleaning, Dr. Lima").locator("[data-row-link]").click();
		await shows(page, `Cleaning, Dr. Lima, ${time}`, "[role=dialog]");
		expect(!(await page.content()).includes("2026-03-02T12:00:00Z"), "nobody reads the API's form of the time");
		if (locale === "en-US") await look(page, "account-inbox-appointment");
	}
}

// The suggested patient takes all of a sender's entries.
async function link(browser) {
	const page = await openAccount(browser, "/inbox");
	await rowOf(page, "Is the doctor there tomorrow?").locator("[data-row-link]").click();
	await shows(page, "has this number", "[role=dialog]");
	await shows(page, "***.***.***-25", "[role=dialog]");
	expect(!(await page.content()).includes("52998224725"), "the CPF stays masked");
	await look(page, "account-inbox-suggestion");
	await dialog(page).getByRole("button", { name: "Link to this patient" }).click();
	await shows(page, /^Linked, with \d+ more entr/, "[role=dialog]");
	await look(page, "account-inbox-linked");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await page.waitForURL(base);
	await rowOf(page, "I have a question").waitFor({ state: "detached" });
	await page.getByLabel("Status").selectOption("linked");
	await page.waitForURL(/status=linked/);
	await page.locator("[data-row-link]").first().click();
	await shows(page, "Ana Souza", "[role=dialog]");
	expect((await dialog(page).getByRole("button", { name: "Dismiss" }).count()) === 0, "what is settled has no buttons");
}

// Without a suggestion somebody searches; what is written is not in the address.
async function search(browser) {
	const page = await openAccount(browser, "/inbox");
	await rowOf(page, "Please call me").locator("[data-row-link]").click();
	expect(await dialog(page).getByRole("button", { name: "Link to this patient" }).isDisabled(), "nobody is chosen");
	const words = dialog(page).getByRole("searchbox");
	await words.fill("Nobody at all");
	await page.keyboard.press("Enter");
	await shows(page, "No patient found.", "[role=dialog]");
	await words.fill("bru");
	await page.keyboard.press("Enter");
	await dialog(page).getByLabel("Bruno Lima").check();
	await look(page, "account-inbox-search");
	expect(!page.url().includes("bru"), `names are not in the address: ${page.url()}`);
	await page.route("**/inbox/*/link", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: '{"status":409,"code":"already_settled","detail":"The entry is settled."}' }));
	await dialog(page).getByRole("button", { name: "Link to this patient" }).click();
	await shows(page, "That did not work. The entry is settled.", "[role=dialog]");
	await page.unroute("**/inbox/*/link");
	await dialog(page).getByRole("button", { name: "Link to this patient" }).click();
	await shows(page, /^Linked/, "[role=dialog]");
}

async function dismiss(browser) {
	const page = await openAccount(browser, "/inbox");
	await rowOf(page, "cheap watches").locator("[data-row-link]").click();
	await dialog(page).getByRole("button", { name: "Dismiss" }).click();
	await shows(page, "Dismissed.", "[role=dialog]");
	await page.keyboard.press("Escape");
	await rowOf(page, "cheap watches").waitFor({ state: "detached" });
	await page.getByLabel("Status").selectOption("dismissed");
	await page.waitForURL(/status=dismissed/);
	await shows(page, "Dismissed", "[role=table]");
	await look(page, "account-inbox-dismissed");
	await page.route(api, (route) => route.fulfill({ json: { items: [], total: 0, page: 1, per_page: 100, pages: 0 } }));
	await page.reload();
	await shows(page, "Nothing matches these filters");
	await look(page, "account-inbox-nothing");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await page.waitForURL(base);
	await page.unroute(api);
	await states(page, base, api, "account-inbox", "Nothing is waiting");
}

await run(list, appointment, link, search, dismiss);
