import { expect, look, open, place, run, shows } from "./console.mjs";

const dialog = (page) => page.getByRole("dialog");

let id = ""; // of the type that lists makes

async function lists(browser) {
	const page = await open(browser, "/event-types");
	await page.locator("[data-row-link]").first().waitFor();
	await shows(page, "hub.ping");
	await look(page, "event-types");
	await page.goto(`${place.url}/event-types?product=nothing`);
	await shows(page, "Nothing matches these filters");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await shows(page, "hub.ping");
	// JSON that is none, and an example that does not agree, are shown before anything is stored.
	await page.getByRole("button", { name: "Describe event type" }).click();
	const form = dialog(page);
	await form.getByLabel("Product").selectOption({ label: "Shop · shop" });
	await form.getByLabel("Name").fill("order.created");
	await form.getByLabel("Description").fill("An order was placed");
	await form.getByLabel("JSON Schema").fill('{"type":');
	await form.getByRole("button", { name: "Describe event type" }).click();
	await shows(page, "schema: ", "[role=dialog] [role=alert]");
	await form.getByLabel("JSON Schema").fill('{"type":"object","properties":{"customer":{"properties":{"age":{"type":"integer"}}}}}');
	await form.getByLabel("Example of the data").fill('{"customer":{"age":"x"}}');
	await form.getByRole("button", { name: "Describe event type" }).click();
	await shows(page, "example.customer.age must be an integer", "[role=dialog] [role=alert]");
	await look(page, "event-types-create");
	await form.getByLabel("Example of the data").fill('{"customer":{"age":42},"big":1152921504606846977}');
	await form.getByRole("button", { name: "Describe event type" }).click();
	await shows(page, "order.created", "h1");
	await shows(page, '"age": 42', "pre");
	await shows(page, '"big": 1152921504606846977', "pre");
	await look(page, "event-type");
	id = page.url().split("/").pop().split("?")[0];
	await page.getByRole("button", { name: "Change event type" }).click();
	await dialog(page).getByLabel("Deprecated").check();
	await dialog(page).getByRole("button", { name: "Change event type" }).click();
	await dialog(page).waitFor({ state: "detached" });
	await shows(page, "Deprecated", "article");
	await shows(page, '"big": 1152921504606846977', "pre");
	await page.goto(`${place.url}/event-types?product=shop`);
	await shows(page, "Schema · Example · Deprecated");
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Webhooks as OpenAPI" }).click()]);
	expect(download.suggestedFilename() === "shop.webhooks.json", "the document has a name");
}

async function states(browser) {
	const page = await open(browser, "/event-types?product=hub");
	await page.getByRole("link", { name: "hub.ping" }).click();
	await shows(page, "It comes from code and cannot be changed.");
	await look(page, "event-type-code");
	await page.route("**/api/v1/event-types?*", (route) => route.abort());
	await page.goto(`${place.url}/event-types`);
	await shows(page, "This could not be loaded");
	await look(page, "event-types-error");
	await page.unroute("**/api/v1/event-types?*");
	await page.route("**/api/v1/event-types?*", () => {});
	await page.reload();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await page.unroute("**/api/v1/event-types?*");
}

async function uses(browser) {
	// The endpoint's form offers the names, also after others.
	const page = await open(browser, "/endpoints");
	await page.getByRole("button", { name: "Create endpoint" }).first().click();
	await dialog(page).getByLabel("Event types").fill("order.paid, ");
	await page.locator('datalist option[value="order.paid, order.created"]').waitFor({ state: "attached" });
	await page.keyboard.press("Escape");
	// The product's validation.
	await page.goto(`${place.url}/tenants`);
	await page.getByRole("button", { name: "Products", exact: true }).click();
	const changed = page.waitForResponse((response) => response.request().method() === "PUT");
	await dialog(page).getByLabel("Validation shop").selectOption("reject");
	expect((await changed).status() === 200, "the validation changes");
	await look(page, "products-validation");
}

async function deletes(browser) {
	const page = await open(browser, `/event-types/${id}`);
	await page.getByRole("button", { name: "Delete" }).click();
	await look(page, "event-type-delete");
	await dialog(page).getByRole("button", { name: "Delete" }).click();
	await page.waitForURL(/\/event-types(\?|$)/);
	await page.locator("[data-row-link]").first().waitFor();
	expect((await page.getByRole("link", { name: "order.created" }).count()) === 0, "the type is gone");
	await page.goto(`${place.url}/event-types/${id}`);
	await shows(page, id);
}

await run(lists, states, uses, deletes);
