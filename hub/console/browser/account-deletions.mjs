// The deletion requests of a clinic and their acknowledgements.
import { openAccount } from "./accounts.mjs";
import { expect, look, place, run, shows } from "./console.mjs";
import { states } from "./accountstates.mjs";

const api = "**/clinic/api/v1/deletion-requests?*";
const base = `${place.url}/account/clinic/deletions`;

async function list(browser) {
	const page = await openAccount(browser, "/deletions?bogus=1");
	await page.waitForURL(base);
	await shows(page, "Needs attention", "[role=table]");
	await shows(page, "messaging: Acknowledged", "[role=table]");
	await shows(page, "scheduling: Failed", "[role=table]");
	await look(page, "account-deletions");
	await page.getByLabel("Status").selectOption("completed");
	await page.waitForURL(/status=completed/);
	await shows(page, "Nothing matches these filters");
	await look(page, "account-deletions-nothing");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await page.waitForURL(base);
	await shows(page, "Needs attention", "[role=table]");
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForURL(`${base}/${place.ended}`); // the newest
	await states(page, base, api, "account-deletions", "No deletion requests");
}

async function acknowledge(browser) {
	const page = await openAccount(browser, `/deletions/${place.deletion}`);
	await shows(page, "inform it by other means");
	await shows(page, "by the product");
	await look(page, "account-deletion");
	expect((await page.getByRole("button", { name: "Acknowledge: messaging" }).count()) === 0, "what was acknowledged has no button");
	await page.getByRole("button", { name: "Acknowledge: scheduling" }).click();
	const dialog = page.getByRole("dialog");
	const send = dialog.getByRole("button", { name: "Acknowledge" });
	await dialog.getByLabel("Note").fill("By telephone");
	expect(await send.isDisabled(), "the name has to be typed");
	await dialog.getByLabel("Product: scheduling").fill("messaging");
	expect(await send.isDisabled(), "another name does not confirm");
	await look(page, "account-deletion-acknowledge");
	await dialog.getByLabel("Product: scheduling").fill("scheduling");
	await page.keyboard.press("Enter");
	await dialog.waitFor({ state: "hidden" });
	await shows(page, "Every product has acknowledged.");
	await shows(page, "By telephone");
	await shows(page, "Bia");
	await look(page, "account-deletion-completed");
	await page.goto(`${base}/${place.ended}`);
	await shows(page, /Connection ended on .*: inform it yourself, then acknowledge/);
	const none = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	await page.goto(`${base}/${none}`);
	await shows(page, `There is no deletion request ${none}.`);
	await page.goto(`${base}/nothing`);
	await shows(page, "There is no deletion request nothing.");
}

// Test data is apart, and each language has its words.
async function elsewhere(browser) {
	const page = await openAccount(browser, "/deletions?environment=test");
	await shows(page, "No deletion requests");
	for (const [locale, title, state] of [["pt-BR", "Pedidos de exclusão", "Concluído"], ["es", "Solicitudes de eliminación", "Completada"]]) {
		const other = await openAccount(browser, "/deletions", place.email, { locale });
		await shows(other, title, "h1");
		await shows(other, state, "[role=table]");
		await look(other, `account-deletions-${locale}`);
	}
}

await run(list, acknowledge, elsewhere);
