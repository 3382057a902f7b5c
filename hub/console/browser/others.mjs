import { api, expect, open, place, run, shows } from "./console.mjs";

const dialog = (page) => page.getByRole("dialog");

// save presses a button of the window, which closes.
async function save(page, name) {
	await dialog(page).getByRole("button", { name }).click();
	await dialog(page).waitFor({ state: "hidden" });
}

async function operators(browser) {
	const page = await open(browser, "/operators");
	const bea = async () => (await api("GET", "/operators")).items.find(({ email }) => email === "bea@example.com");
	const row = page.getByRole("row").filter({ hasText: "bea@example.com" });
	const { id, email } = await bea();
	await row.getByRole("button", { name: "Change" }).click();
	await dialog(page).getByLabel("Name").fill("Beatriz");
	await api("PUT", `/operators/${id}`, { email, name: "Bea", role: "admin", disabled: true });
	await save(page, "Change");
	const after = await bea();
	expect(after.name === "Beatriz" && after.disabled && after.role === "admin", `who was disabled stays so: ${JSON.stringify(after)}`);
	await row.filter({ hasText: "Disabled" }).getByRole("button", { name: "Change" }).click();
	await dialog(page).getByLabel("Disabled").uncheck();
	await dialog(page).getByLabel("Role").selectOption("support");
	await save(page, "Change");
	const changed = await bea();
	expect(!changed.disabled && changed.role === "support" && changed.name === "Beatriz", `what the form changes is changed: ${JSON.stringify(changed)}`);
}

async function endpoints(browser) {
	const page = await open(browser, `/endpoints/${place.endpoint}`);
	const read = () => api("GET", `/endpoints/${place.endpoint}`);
	const put = async (changed) => {
		const { url, event_types, description, enabled, rate_per_minute } = await read();
		await api("PUT", `/endpoints/${place.endpoint}`, { url, event_types, description, enabled, rate_per_minute, ...changed });
	};
	await page.getByRole("button", { name: "Change settings" }).click();
	await dialog(page).getByLabel("Event types").fill("order.*");
	await put({ enabled: false, description: "Stock" });
	await save(page, "Change settings");
	let after = await read();
	expect(after.event_types.join() === "order.*" && !after.enabled && after.description === "Stock", `what was disabled stays so: ${JSON.stringify(after)}`);
	await page.getByRole("button", { name: "Enable" }).waitFor();
	await put({ rate_per_minute: 60, description: "Bread" });
	await page.getByRole("button", { name: "Enable" }).click();
	await page.getByRole("button", { name: "Disable" }).waitFor();
	after = await read();
	expect(after.enabled && after.rate_per_minute === 60 && after.description === "Bread", `enabling changes nothing else: ${JSON.stringify(after)}`);
}

async function alerts(browser) {
	const page = await open(browser, "/alerts");
	const read = async () => (await api("GET", "/alerts")).items[0];
	const { id, target } = await read();
	await page.getByRole("row").filter({ hasText: target }).getByRole("button", { name: "Change" }).click();
	await dialog(page).getByLabel("Event types").fill("hub.endpoint.*");
	await api("PUT", `/alerts/${id}`, { target: "night@example.com", events: ["hub.*"], enabled: false });
	await save(page, "Change settings");
	const after = await read();
	expect(after.events.join() === "hub.endpoint.*" && !after.enabled && after.target === "night@example.com", `an alert: ${JSON.stringify(after)}`);
}

async function limits(browser) {
	const page = await open(browser, "/tenants");
	const read = () => api("GET", `/tenants/${place.tenant}`);
	await page.getByRole("button", { name: "Corner Bakery", exact: true }).click();
	await dialog(page).getByLabel(/^Queue/).fill("70");
	const { name } = await read();
	await api("PUT", `/tenants/${place.tenant}`, { name, external_ref: "acc_1", limits: { in_flight: 5 } });
	await save(page, "Save");
	const after = await read();
	expect(after.limits.queue === 70 && after.limits.in_flight === 5 && after.external_ref === "acc_1", `a tenant: ${JSON.stringify(after)}`);
}

// Holding a key sends once.
async function holds(browser) {
	const page = await open(browser, `/deliveries/${(await api("GET", "/deliveries?event_type=order.refused")).items[0].id}`);
	await page.getByRole("button", { name: "Send again" }).waitFor();
	const sent = [];
	page.on("request", (request) => request.url().endsWith("/retry") && sent.push(request.url()));
	for (let n = 0; n < 5; n++) await page.keyboard.down("r");
	await page.keyboard.up("r");
	await shows(page, "It will be sent again now");
	expect(sent.length === 1, `holding r sends ${sent.length} times`);
}

await run(operators, endpoints, alerts, limits, holds);
