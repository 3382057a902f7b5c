import { createHmac } from "node:crypto";
import { expect, look, open, place, run, shows } from "./console.mjs";

const dialog = (page) => page.getByRole("dialog");
const forbidden = { status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' };

async function lists(browser) {
	const page = await open(browser, "/endpoints");
	await page.locator("[data-row-link]").first().waitFor();
	await shows(page, "Corner Bakery");
	await look(page, "endpoints");
	await page.getByLabel("State").selectOption("disabled");
	await page.waitForURL(/state=disabled/);
	await shows(page, "Nothing matches these filters");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await page.getByRole("button", { name: "Create endpoint" }).click();
	await dialog(page).getByLabel("Tenant").selectOption({ label: "Corner Bakery · shop" });
	await dialog(page).getByLabel("Address").fill(`${place.receiver}/second`);
	await offersTypesOfShop(page);
	await dialog(page).getByLabel("Event types").fill("order.created, order.paid");
	await dialog(page).getByRole("checkbox", { name: "Ordered", description: /ordering key are sent one at a time/ }).check();
	await look(page, "endpoints-create");
	await dialog(page).getByRole("button", { name: "Create endpoint" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await shows(page, "order.created, order.paid");
	await page.getByRole("link", { name: "/second" }).click();
	await shows(page, "One key at a time, in the order of acceptance", "dl");
	await page.goto(`${place.url}/endpoints?environment=test`);
	await shows(page, "No endpoints yet");
	await look(page, "endpoints-empty");
	await page.route("**/api/v1/endpoints?*", (route) => route.abort());
	await page.goto(`${place.url}/endpoints`);
	await shows(page, "This could not be loaded");
	await look(page, "endpoints-error");
	await page.unroute("**/api/v1/endpoints?*");
	await page.route("**/api/v1/endpoints?*", () => {});
	await page.reload();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "endpoints-loading");
}

const sign = (secret, body) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

// certificate gives the endpoint a client certificate, for which its address has to be https, and
// takes both back.
async function certificate(page) {
	const settings = async () => {
		await page.getByRole("button", { name: "Change settings" }).click();
		await dialog(page).getByText("What the receiver asks for").click();
	};
	const change = () => dialog(page).getByRole("button", { name: "Change settings" }).click();
	await settings();
	const url = await dialog(page).getByLabel(/^Address/).inputValue();
	await dialog(page).getByLabel("Client certificate (PEM)").fill(place.certificate);
	await change();
	await shows(page, "must have certificate and key, both in PEM", "[role=dialog]");
	await dialog(page).getByLabel(/^Address/).fill(url.replace("http:", "https:"));
	await dialog(page).getByLabel("Its private key (PEM)").fill(place.certificate_key);
	await look(page, "endpoint-certificate");
	await change();
	await shows(page, "CN=hub.example.com", "dl");
	await settings();
	expect((await dialog(page).getByLabel("Its private key (PEM)").inputValue()) === "", "the key is not shown");
	await dialog(page).getByLabel("Remove the client certificate").check();
	await dialog(page).getByLabel(/^Address/).fill(url);
	await change();
	await dialog(page).waitFor({ state: "detached" });
	const shown = page.locator("dl").getByText("CN=hub.example.com");
	expect(await shown.waitFor({ state: "detached" }).then(() => true, () => false), "the certificate is gone");
}

// pings sends hub.ping, then the example of an event type, which it finds among those that have one.
async function pings(page) {
	const send = async (status) => {
		const response = page.waitForResponse((response) => response.url().endsWith("/ping"));
		await dialog(page).getByRole("button", { name: "Ping" }).click();
		expect((await response).status() === status, `a ping is answered with ${status}`);
		return (await response).request().postDataJSON();
	};
	const field = dialog(page).getByRole("combobox", { name: "Event type", description: /The example of this type is sent/ });
	await page.getByRole("button", { name: "Ping" }).click();
	expect((await field.inputValue()) === "", "nothing is chosen at first");
	expect((await send(202)).event_type === undefined, "it is a plain ping");
	await shows(page, "hub.ping is on its way");
	await dialog(page).waitFor({ state: "detached" });
	await page.getByRole("button", { name: "Ping" }).click();
	for (const name of ["hub.ping", "order.created", "hub.endpoint.disabled"]) await dialog(page).locator(`datalist option[value="${name}"]`).waitFor({ state: "attached" });
	for (const name of ["order.paid", "ticket.opened"]) expect((await dialog(page).locator(`datalist option[value="${name}"]`).count()) === 0, `${name} is not offered`);
	await field.fill("order.paid");
	expect((await send(422)).event_type === "order.paid", "a type may be typed");
	await shows(page, "That did not work. event_type has no example to send", "[role=dialog]");
	await look(page, "endpoint-ping");
	await field.fill("order.created");
	expect((await send(202)).event_type === "order.created", "the type is the chosen one");
	await shows(page, "order.created is on its way; the deliveries show its outcome.");
	await dialog(page).waitFor({ state: "detached" });
}

/** offersTypesOfShop requires the field for event types to offer those of the tenant's product and of the hub alone. */
async function offersTypesOfShop(page) {
	await dialog(page).getByLabel("Event types").fill("");
	for (const name of ["order.paid", "hub.endpoint.disabled"]) await dialog(page).locator(`datalist option[value="${name}"]`).waitFor({ state: "attached" });
	expect((await dialog(page).locator('datalist option[value="ticket.opened"]').count()) === 0, "another product's type is not offered");
	await dialog(page).getByLabel("Event types").fill("*");
}

async function acts(browser) {
	const page = await open(browser, `/endpoints/${place.endpoint}`);
	await shows(page, "Warehouse", "h1");
	await look(page, "endpoint");
	await pings(page);
	// A filter, and whether it lets an event pass.
	await page.getByRole("button", { name: "Change settings" }).click();
	await offersTypesOfShop(page);
	await dialog(page).getByLabel("Filter").fill("event.data.total >");
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await shows(page, "column 19", "[role=dialog]");
	await look(page, "endpoint-settings");
	await dialog(page).getByLabel("Filter").fill("event.data.total > 100");
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await shows(page, "event.data.total > 100", "dl");
	await page.getByRole("button", { name: "Try", exact: true }).click();
	await shows(page, "The endpoint would get it.");
	await page.getByLabel("As it is published").fill('{"event_type":"order.paid","data":{}}');
	await page.getByRole("button", { name: "Try", exact: true }).click();
	await shows(page, "the event has no such member: total");
	await look(page, "endpoint-match");
	await page.getByRole("button", { name: "Change settings" }).click();
	await dialog(page).getByLabel("Filter").fill("");
	await dialog(page).getByText("What the receiver asks for").click();
	await dialog(page).getByLabel("Own request headers").fill("Authorization: Bearer a-token-of-the-receiver");
	await look(page, "endpoint-receiver");
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await shows(page, "Authorization: ***iver", "dl");
	await page.getByRole("button", { name: "Change settings" }).click();
	await dialog(page).getByText("What the receiver asks for").click();
	await dialog(page).getByLabel("Remove the request headers").check();
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await dialog(page).waitFor({ state: "detached" });
	await certificate(page);
	// Order stays where other settings are changed.
	await shows(page, "none: all at once", "dl");
	await page.getByRole("button", { name: "Change settings" }).click();
	await dialog(page).getByLabel("Ordered").check();
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await shows(page, "One key at a time, in the order of acceptance", "dl");
	await page.getByRole("button", { name: "Change settings" }).click();
	expect(await dialog(page).getByLabel("Ordered").isChecked(), "the form shows that it is ordered");
	await dialog(page).getByLabel("Description").fill("Stock");
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await shows(page, "Stock", "h1");
	await shows(page, "One key at a time, in the order of acceptance", "dl");
	await page.getByRole("button", { name: "Change settings" }).click();
	await dialog(page).getByLabel("Ordered").uncheck();
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await shows(page, "none: all at once", "dl");
	// Rotation, with X-Webhook-Signature changing at the end.
	await page.getByRole("button", { name: "Rotate secret" }).click();
	await dialog(page).getByLabel("X-Webhook-Signature changes").selectOption("end");
	await look(page, "endpoint-rotate");
	await dialog(page).getByRole("button", { name: "Rotate secret" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	const secret = await page.locator("[role=dialog] .mono").innerText();
	await look(page, "endpoint-secret");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await shows(page, "When the overlap ends", "dl");
	// The debugger.
	const body = '{"note":"São","n":1}';
	const check = async (headers, text, receiver, words) => {
		await page.getByLabel("Headers").fill(headers);
		await page.getByLabel("Body").fill(text);
		await page.getByLabel("Secret that the receiver verifies with").fill(receiver);
		await page.getByRole("button", { name: "Check" }).click();
		await shows(page, words);
	};
	await check(`Host: x\nX-Webhook-Signature: ${sign(secret, body)}`, body, secret, "The signature is valid.");
	await check(`X-Webhook-Signature: ${sign(secret, body)}`, '{ "note": "S\\u00e3o", "n": 1 }', "", "The JSON was encoded again");
	await look(page, "endpoint-debugger");
	await check(`X-Webhook-Signature: ${sign(place.secret, body)}`, body, secret, "The secret was rotated");
	await check(`X-Webhook-Signature: ${sign(secret, body)}`, body, "another secret of 24 characters", "is not of this endpoint");
	await check("Host: x", body, "", "There is neither X-Webhook-Signature");
	await page.getByLabel("Receiver's clock").fill("2026-01-01T00:00:01");
	await check(`webhook-id: evt_0123456789abcdef\nwebhook-timestamp: 1767323045\nwebhook-signature: v1,x\nX-Webhook-Signature: ${sign(secret, body)}`, body, "", "more than 5 minutes apart");
	expect(!(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).includes(secret), "the secret is not stored");
	// Disable, enable, recover, delete.
	await page.getByRole("button", { name: "Disable" }).click();
	await shows(page, "Its events are parked until it is enabled.");
	await page.getByRole("button", { name: "Enable" }).click();
	await shows(page, "It is in use again");
	await page.getByRole("button", { name: "Recover" }).click();
	await dialog(page).getByLabel("Events since").fill("2026-01-01T00:01");
	await dialog(page).getByRole("button", { name: "Count" }).click();
	await shows(page, "0 events missed.", "[role=dialog]");
	await look(page, "endpoint-recover");
	await page.keyboard.press("Escape");
	await dialog(page).waitFor({ state: "hidden" });
	await page.getByRole("button", { name: "Delete" }).click();
	expect(await dialog(page).getByRole("button", { name: "Delete" }).isDisabled(), "the name has to be typed");
	await dialog(page).getByLabel("Name").fill(new URL(place.receiver).host);
	await dialog(page).getByRole("button", { name: "Delete" }).click();
	await page.waitForURL(/\/endpoints$/);
}

async function fails(browser) {
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	const page = await open(browser, "/endpoints");
	await page.goto(`${place.url}/endpoints/${id}`);
	await shows(page, `There is no endpoint ${id}.`);
	await look(page, "endpoint-missing");
	await page.route("**/api/v1/endpoints/*", (route) => route.fulfill(forbidden));
	await page.reload();
	await shows(page, "Not allowed");
	await page.unroute("**/api/v1/endpoints/*");
	await page.route("**/api/v1/endpoints/*", (route) => route.abort());
	await page.reload();
	await shows(page, "The hub does not respond.");
	await look(page, "endpoint-error");
}

await run(lists, fails, acts);
