import { expect, look, open, place, run, shows } from "./console.mjs";

const failed = (page) => page.locator("li[data-state=failed]");

async function other(browser) {
	const page = await open(browser, "/connect");
	await shows(page, "Another system");
	await look(page, "connect");
	const form = page.locator("section", { has: page.getByRole("heading", { name: "Another system" }) });
	await form.getByLabel("Account").selectOption({ label: "Pine Clinic (notes)" });
	const board = `${place.url}/board/api/v1`;
	const wrongKey = place.key.slice(0, -4) + (place.key.endsWith("AAAA") ? "BBBB" : "AAAA");
	for (const [name, product, url, key, step, fix, isUntried] of [
		["dns", "board", "http://no-such-host.invalid/api/v1", place.key, "reach", "Check the host's spelling"],
		["port", "board", place.closed, place.key, "reach", "Check the port"],
		["base", "board", place.elsewhere, place.key, "api", "Use the base of the API"],
		["key", "board", board, wrongKey, "key", "Copy the whole key again"],
		["product", "clinic", board, place.key, "product", "Another product responds there"],
		["environment", "board", board, place.key.replace("_live_", "_test_"), "key", "Use a key of the environment", true],
		["self", "notes", place.closed, place.key, "product", "Name the other product", true],
	]) {
		await form.getByLabel("Product on the other side").fill(product);
		await form.getByLabel("Address of its API").fill(url);
		await form.getByLabel("Key that it issued").fill(key);
		const answered = page.waitForResponse((response) => response.url().endsWith("/integrations/connect"));
		await form.getByRole("button", { name: "Connect" }).click();
		await answered;
		await failed(page).waitFor();
		const at = await failed(page).getAttribute("data-step");
		expect(at === step, `${name} fails at ${step}, not ${at}: ${await failed(page).innerText()}`);
		expect((await failed(page).innerText()).includes(fix), `${name} says what to do: ${await failed(page).innerText()}`);
		const done = await page.locator("li[data-state=done]").count();
		expect(isUntried ? done === 0 : done > 0, `${name}: ${done} steps are done, which ${isUntried ? "were not tried" : "went well"}`);
		if (name === "key") await look(page, "connect-failed");
	}
}

async function local(browser) {
	const page = await open(browser, "/connect");
	await shows(page, "Products of this hub");
	// Two clicks.
	await page.getByText(/Pine Clinic.*Oak Studio|Oak Studio.*Pine Clinic/).first().click();
	await page.getByRole("button", { name: "Connect" }).first().click();
	await shows(page, "Connected.");
	expect(await page.locator("li[data-state=done]").count() === 6, "every step is done");
	await shows(page, "connected", "fieldset");
	await look(page, "connect-done");
	await page.getByText("Show the integration").click();
	await page.waitForURL(/\/integrations\/[0-9a-f-]{36}$/);
}

async function fails(browser) {
	const page = await open(browser, "/connect");
	await page.route("**/api/v1/products?*", (route) => route.abort());
	await page.reload();
	await shows(page, "This could not be loaded");
	await look(page, "connect-error");
	await page.unroute("**/api/v1/products?*");
	await page.route("**/api/v1/tenants?*", (route) => route.fulfill({ json: { items: [], next_cursor: null } }));
	await page.reload();
	await shows(page, "There are no two accounts");
	await look(page, "connect-empty");
}

await run(other, local, fails);
