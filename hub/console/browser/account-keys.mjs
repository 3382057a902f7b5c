// The keys of a product's account.
import { expect, look, place, run, shows, tryAgain } from "./console.mjs";
import { openAccount } from "./accounts.mjs";

const status = (page, key) => page.evaluate(([url, key]) => fetch(url, { headers: { "X-Integration-Key": key } }).then((answer) => answer.status), [`${place.url}/${place.product}/api/v1/integrations/status`, key]);
const secret = async (page) => {
	await shows(page, "It is shown now and never again", "[role=dialog]");
	return page.locator("[role=dialog] .mono").innerText();
};

async function keys(browser) {
	const page = await openAccount(browser, "/keys");
	await shows(page, "No keys yet");
	await look(page, `account-keys-empty-${place.product}`);
	await page.getByRole("button", { name: "Create key" }).first().click();
	await look(page, `account-keys-create-${place.product}`);
	await page.getByRole("dialog").getByLabel("Name").fill("Front desk");
	await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
	const first = await secret(page);
	await look(page, `account-keys-made-${place.product}`);
	expect((await status(page, first)) === 200, "the key works");
	await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
	await shows(page, "Front desk");
	expect(!(await page.content()).includes(first), "the key is not on the page any more");
	await look(page, `account-keys-${place.product}`);
	await page.getByRole("button", { name: "Rotate" }).click();
	await page.getByRole("dialog").getByLabel("Overlap").selectOption("0");
	await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
	const second = await secret(page);
	expect((await status(page, second)) === 200 && (await status(page, first)) === 401, "the new key has taken the place of the old one");
	await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
	await page.getByRole("button", { name: "Rotate" }).waitFor();
	const row = page.getByRole("row").filter({ hasText: second.slice(-4) });
	await row.getByRole("button", { name: "Revoke" }).click();
	await look(page, `account-keys-revoke-${place.product}`);
	await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
	await page.getByRole("dialog").waitFor({ state: "hidden" });
	await row.getByText("Revoked").waitFor();
	expect((await status(page, second)) === 401, "the key is refused");
	// A key of test data is not in the list of live ones, and the other way round.
	await page.getByText("Test", { exact: true }).click();
	await shows(page, "No keys yet");
}

async function fails(browser) {
	const page = await openAccount(browser, "/integrations");
	await page.route("**/api/v1/integrations/api-keys*", (route) => (route.request().method() === "GET" ? route.abort() : route.fulfill({ status: 422, json: { status: 422, code: "validation_failed", detail: "No.", errors: [{ location: "body.scopes", message: "unknown scope nothing" }] } })));
	await page.getByRole("link", { name: "API keys" }).click();
	await shows(page, "The hub does not respond.");
	await look(page, `account-keys-error-${place.product}`);
	await page.unroute("**/api/v1/integrations/api-keys*");
	await tryAgain(page);
	await page.getByRole("button", { name: "Create key" }).first().click();
	await page.getByRole("dialog").getByLabel("Scopes").fill("nothing");
	await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
	await shows(page, "That did not work.", "[role=dialog]");
}

await run(keys, fails);
