// A product's account connects another product, and works with the connection.
import { expect, look, place, run, shows, tryAgain } from "./console.mjs";
import { openAccount } from "./accounts.mjs";

const failed = (page) => page.locator("li[data-state=failed]");
const base = `${place.url}/account/${place.product}`;

async function connects(browser) {
	const page = await openAccount(browser, "/connect");
	await look(page, `account-connect-${place.product}`);
	const wrongKey = place.key.slice(0, -4) + (place.key.endsWith("AAAA") ? "BBBB" : "AAAA");
	const fill = async (product, url, key) => {
		await page.getByLabel("Product on the other side").fill(product);
		if (url) await page.getByLabel("Address of its API").fill(url);
		await page.getByLabel("Key that it issued").fill(key);
	};
	const submit = async () => {
		const answered = page.waitForResponse((response) => response.url().endsWith("/integrations/connect"));
		await page.getByRole("button", { name: "Connect", exact: true }).click();
		await answered;
	};
	for (const [name, product, url, key, step, fix] of [
		["dns", place.peer, "http://no-such-host.invalid/api/v1", place.key, "reach", "Check the host's spelling"],
		["port", place.peer, place.closed, place.key, "reach", "Check the port"],
		["base", place.peer, place.elsewhere, place.key, "api", "Use the base of the API"],
		["key", place.peer, place.peerBase, wrongKey, "key", "Copy the whole key again"],
		["product", "records", place.peerBase, place.key, "product", "Another product responds there"],
		["environment", place.peer, place.peerBase, place.key.replace("_live_", "_test_"), "key", "Use a key of the environment"],
	]) {
		await fill(product, url, key);
		await submit();
		await failed(page).waitFor();
		const at = await failed(page).getAttribute("data-step");
		expect(at === step, `${name} fails at ${step}, not ${at}: ${await failed(page).innerText()}`);
		expect((await failed(page).innerText()).includes(fix), `${name} says what to do: ${await failed(page).innerText()}`);
		if (name === "key") await look(page, `account-connect-failed-${place.product}`);
	}
	// The address of a product of this hub is known.
	await page.reload();
	await fill(place.peer, "", place.key);
	expect((await page.getByLabel("Address of its API").inputValue()) === place.peerBase, "the address of a local product fills itself in");
	await submit();
	await shows(page, "Connected.");
	expect((await page.locator("li[data-state=done]").count()) === 6, "every step is done");
	await look(page, `account-connected-${place.product}`);
	await page.getByText("Show the integration").click();
	await page.waitForURL(/\/integrations\/[0-9a-f-]{36}$/);
}

async function works(browser) {
	const page = await openAccount(browser, "/integrations");
	await page.locator("[data-row-link]").first().waitFor();
	await look(page, `account-integrations-${place.product}`);
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await shows(page, place.peer, "h1");
	await shows(page, "Active");
	await look(page, `account-integration-${place.product}`);
	await page.getByRole("button", { name: "Test", exact: true }).click();
	await shows(page, "The peer responds");
	await page.getByRole("button", { name: "Rotate secret" }).click();
	await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	expect((await page.locator("[role=dialog] .mono").innerText()).length > 20, "the new secret is shown");
	await look(page, `account-integration-secret-${place.product}`);
	await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
	await page.getByRole("button", { name: "Disable" }).click();
	await shows(page, "It is stopped until it is enabled.");
	await page.getByRole("button", { name: "Enable" }).click();
	await shows(page, "It is in use again.");
	await page.getByRole("button", { name: "Disconnect" }).click();
	const confirm = page.getByRole("dialog").getByRole("button", { name: "Disconnect" });
	expect(await confirm.isDisabled(), "nothing is ended before the name is typed");
	await page.getByRole("dialog").getByLabel("Name").fill(place.peer);
	await look(page, `account-disconnect-${place.product}`);
	await confirm.click();
	await page.getByRole("dialog").waitFor({ state: "hidden" });
	await shows(page, "Revoked");
	expect((await page.getByRole("button", { name: "Disconnect" }).count()) === 0, "what has ended has no buttons");
}

async function fails(browser) {
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	const page = await openAccount(browser, "/integrations");
	await page.goto(`${base}/integrations/${id}`);
	await shows(page, `There is no integration ${id}.`);
	await look(page, `account-integration-missing-${place.product}`);
	await page.getByText("Back to the integrations").click();
	await page.waitForURL(`${base}/integrations`);
	await page.goto(`${base}/nothing`);
	await shows(page, "Not found");
	await page.route("**/api/v1/integrations", (route) => route.abort());
	for (const path of ["integrations", "connect"]) {
		await page.goto(`${base}/${path}`);
		await shows(page, "The hub does not respond.");
		await look(page, `account-${path}-error-${place.product}`);
	}
	await page.unroute("**/api/v1/integrations");
	await tryAgain(page);
	await shows(page, "With a key of the other product");
	const staff = await openAccount(browser, "/connect", place.staff);
	await shows(staff, "Not allowed");
	for (const path of ["keys", "log", `integrations/${id}`, `log/${id}`]) {
		await staff.goto(`${base}/${path}`);
		await shows(staff, "Not allowed");
	}
	await look(staff, `account-delivery-forbidden-${place.product}`);
}

async function loads(browser) {
	const page = await openAccount(browser, "/keys");
	await page.route("**/api/v1/integrations", () => {});
	await page.getByRole("link", { name: "Integrations" }).click();
	await page.getByRole("status", { name: "Loading" }).waitFor();
	await look(page, `account-integrations-loading-${place.product}`);
}

await run(connects, works, fails, loads);
