// The list screens of administration in their states.
import { closes, escapes, expect, look, open, place, run, shows, tryAgain } from "./console.mjs";

const forbidden = { status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' };

// states visits what each list is while it is read, when it cannot be, and when it is empty.
async function states(page, path, api, empty) {
	await page.route(api, () => {});
	await page.goto(place.url + path);
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, `${path.slice(1)}-loading`);
	await page.unroute(api);
	await page.route(api, (route) => route.abort());
	await page.reload();
	await shows(page, "This could not be loaded");
	await look(page, `${path.slice(1)}-error`);
	await page.unroute(api);
	await page.route(api, (route) => route.fulfill({ json: { items: [], next_cursor: null } }));
	await tryAgain(page);
	await shows(page, empty);
	await look(page, `${path.slice(1)}-empty`);
	await page.unroute(api);
	await page.route(api, (route) => route.fulfill(forbidden));
	await page.reload();
	await shows(page, "Not allowed");
	await page.unroute(api);
}

const dialog = (page) => page.getByRole("dialog");

async function keys(browser) {
	const page = await open(browser, "/keys");
	await shows(page, "shop_live_…");
	await look(page, "keys");
	await page.getByRole("button", { name: "Create key" }).click();
	await dialog(page).getByLabel("Tenant").selectOption({ label: "Corner Bakery · shop" });
	await dialog(page).getByLabel("Name").fill("new server");
	await dialog(page).getByLabel("Limit").fill("7-D");
	const scopes = dialog(page).getByRole("combobox", { name: "Scopes" });
	await scopes.click();
	await page.getByRole("option", { name: "deliveries.read" }).click();
	await scopes.fill("endpoints.manage");
	await dialog(page).getByLabel("Name").click();
	await look(page, "keys-create");
	await dialog(page).getByRole("button", { name: "Create key" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	const key = await page.locator("[role=dialog] .mono").innerText();
	expect(/^shop_live_[0-9A-Za-z]{36}$/.test(key), "the whole key is shown");
	await look(page, "keys-created");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await shows(page, `…${key.slice(-4)}`);
	expect(!(await page.content()).includes(key), "it is not shown again");
	const log = await page.request.get(`${place.url}/api/v1/deliveries`, { headers: { "X-Integration-Key": key, Authorization: "", Cookie: "" } });
	expect(log.status() === 200, "it has the scope that was chosen");
	for (let i = 0; i < 2; i++) await page.request.get(`${place.url}/api/v1/endpoints`, { headers: { "X-Integration-Key": key, Authorization: "", Cookie: "" } });
	await page.reload();
	await shows(page, "3 / 7 a day");
	await look(page, "keys-use");
	const row = page.getByRole("row").filter({ hasText: "new server" });
	await row.getByRole("button", { name: "Rotate" }).click();
	await dialog(page).getByLabel("Overlap").selectOption("3600");
	await dialog(page).getByRole("button", { name: "Rotate" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await shows(page, "Replaced");
	await row.filter({ hasText: "Active" }).getByRole("button", { name: "Revoke" }).click();
	await shows(page, "refused from now on", "[role=dialog]");
	await dialog(page).getByRole("button", { name: "Revoke" }).click();
	await row.filter({ hasText: "Revoked" }).waitFor();
	await page.fill("input[name=token]", "product:nothing");
	await page.keyboard.press("Enter");
	await shows(page, "Nothing matches these filters");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await page.waitForURL(`${place.url}/keys`);
	await states(page, "/keys", "**/api/v1/keys?*", "No keys yet");
}

async function audit(browser) {
	const page = await open(browser, "/audit?bogus=1");
	await page.waitForURL(`${place.url}/audit`);
	await shows(page, "session.create", "[role=table]");
	await look(page, "audit");
	expect(await page.locator("[role=table]").getByText("integrations.status").count() === 0, "status checks are left out");
	await page.getByLabel("Status checks and received webhooks too").check();
	await page.waitForURL(/routine=1/);
	await shows(page, "integrations.status", "[role=table]");
	await page.getByLabel("Action", { exact: true }).selectOption("operators.create");
	await page.waitForURL(/action=operators\.create/);
	await page.waitForFunction(() => document.querySelectorAll("[role=row]").length === 2);
	await page.getByLabel("Action", { exact: true }).selectOption("session.create"); // by an operator
	await page.waitForURL(/action=session\.create/);
	await page.locator("[data-row-link]").first().waitFor();
	await page.locator("h1").click(); // in the list of actions, letters choose one
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForURL(/actor=/);
	// People know operators by their addresses.
	await page.goto(`${place.url}/audit`);
	await page.fill("input[name=token]", `actor:${place.email} action:session.create`);
	await page.keyboard.press("Enter");
	await page.waitForURL(/actor=.*action=session\.create|action=session\.create.*actor=/);
	await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length > 0);
	await page.goto(`${place.url}/audit?since=2026-01-01&until=2026-01-02T00:00:00Z`);
	await shows(page, "Nothing matches these filters");
	await page.waitForURL(/since=2026-01-01T03/); // shared links have absolute times
	await look(page, "audit-nothing");
	await states(page, "/audit", "**/api/v1/audit?*", "Nothing was done yet");
}

async function operators(browser) {
	const page = await open(browser, "/operators");
	await shows(page, "bea@example.com");
	await look(page, "operators");
	await page.getByRole("button", { name: "Add operator" }).click();
	await dialog(page).getByLabel("Name").fill("Caio");
	await dialog(page).getByLabel("E-mail address").fill("bea@example.com");
	await dialog(page).getByLabel("Password").first().fill("long enough to pass");
	await dialog(page).getByRole("button", { name: "Add operator" }).click();
	await shows(page, "That did not work.", "[role=dialog]");
	await look(page, "operators-create");
	await dialog(page).getByLabel("E-mail address").fill("caio@example.com");
	await dialog(page).getByRole("button", { name: "Add operator" }).click();
	const row = page.getByRole("row").filter({ hasText: "caio@example.com" });
	await row.waitFor();
	await row.getByRole("button", { name: "Change" }).click();
	await dialog(page).getByLabel("Role").selectOption("admin");
	await dialog(page).getByLabel("Disabled").check();
	await dialog(page).getByRole("button", { name: "Change" }).click();
	await row.filter({ hasText: "Administrator" }).filter({ hasText: "Disabled" }).waitFor();
	await row.getByRole("button", { name: "Delete" }).click();
	await dialog(page).getByRole("button", { name: "Delete" }).click();
	await row.waitFor({ state: "detached" });
	await states(page, "/operators", "**/api/v1/operators?*", "No operators");
}

async function tokens(browser) {
	const page = await open(browser, "/tokens");
	await shows(page, "No API tokens");
	await page.getByRole("button", { name: "Create token" }).first().click();
	await dialog(page).getByLabel("Name").fill("billing back end");
	await dialog(page).getByLabel("Role").selectOption("admin");
	await look(page, "tokens-create");
	await dialog(page).getByRole("button", { name: "Create token" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	const secret = await dialog(page).getByText(/^hubt_/).textContent();
	const answer = await fetch(`${place.url}/api/v1/auth/me`, { headers: { Authorization: `Bearer ${secret}` } });
	expect((await answer.json()).name === "billing back end", "the token that is shown works");
	await closes(page, page.getByRole("button", { name: "Create token" }));
	const row = page.getByRole("row").filter({ hasText: "billing back end" });
	await row.filter({ hasText: "Administrator" }).filter({ hasText: place.email }).waitFor();
	expect(!(await page.content()).includes(secret), "it is never shown again");
	await look(page, "tokens");
	await row.getByRole("button", { name: "Delete" }).click();
	await dialog(page).getByRole("button", { name: "Delete" }).click();
	await row.waitFor({ state: "detached" });
	const refused = await fetch(`${place.url}/api/v1/auth/me`, { headers: { Authorization: `Bearer ${secret}` } });
	expect(refused.status === 401, "a deleted token is refused");
	await page.goto(`${place.url}/audit`);
	await page.getByLabel("Action", { exact: true }).selectOption("tokens.delete");
	await page.waitForURL(/action=tokens\.delete/);
	await page.waitForFunction(() => document.querySelectorAll("[role=row]").length === 2);
	await states(page, "/tokens", "**/api/v1/tokens?*", "No API tokens");
}

// field is a list of a form whose name other lists have in their options.
const field = (page, name) => dialog(page).locator(`select[name=${name}]`);

async function alerts(browser) {
	const page = await open(browser, "/alerts");
	await shows(page, "No alerts");
	await page.getByRole("button", { name: "Create alert" }).first().click();
	await dialog(page).getByLabel("E-mail address").fill("ops@example.com");
	await dialog(page).locator("datalist option").first().waitFor({ state: "attached" });
	const offered = await dialog(page).locator("datalist option").evaluateAll((options) => options.map((option) => option.value));
	expect(offered.length > 5 && offered.every((name) => name.startsWith("hub.")), `the hub's own events are offered, not ${offered}`);
	await look(page, "alerts-create");
	await dialog(page).getByRole("button", { name: "Create alert" }).click();
	await shows(page, "The alert is made", "[role=dialog]");
	await page.keyboard.press("Escape");
	const row = page.getByRole("row").filter({ hasText: "ops@example.com" });
	await row.getByRole("button", { name: "Test" }).click();
	await shows(page, "The test is on its way");
	expect((await row.getByRole("button", { name: "Rotate" }).count()) === 0, "mail has no secret");
	await row.filter({ hasText: "All" }).getByRole("button", { name: "Change" }).click();
	await dialog(page).getByLabel("About").selectOption({ label: "Tenants of one product" });
	await field(page, "product").selectOption("shop");
	await dialog(page).getByLabel("Event types").fill("hub.endpoint.failing");
	await dialog(page).getByLabel("Enabled").uncheck();
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await row.filter({ hasText: "hub.endpoint.failing" }).filter({ hasText: "Disabled" }).filter({ hasText: "shop" }).waitFor();
	await row.getByRole("button", { name: "Change" }).click();
	expect((await field(page, "product").inputValue()) === "shop", "the form shows the product");
	await look(page, "alerts-product");
	await dialog(page).getByLabel("About").selectOption({ label: "All tenants" });
	await dialog(page).getByRole("button", { name: "Change settings" }).click();
	await row.filter({ hasText: "All" }).waitFor();
	await page.getByRole("button", { name: "Create alert" }).first().click();
	await dialog(page).getByLabel("Kind").selectOption("webhook");
	await dialog(page).getByLabel("URL").fill("https://example.com/alerts");
	await dialog(page).getByLabel("About").selectOption({ label: "One tenant" });
	await field(page, "tenant").selectOption({ label: "Corner Bakery · shop" });
	await dialog(page).getByRole("button", { name: "Create alert" }).click();
	const secret = await dialog(page).getByText(/^whsec_/).textContent();
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await dialog(page).waitFor({ state: "hidden" });
	expect(!(await page.content()).includes(secret), "it is never shown again");
	const webhook = page.getByRole("row").filter({ hasText: "https://example.com/alerts" });
	await webhook.filter({ hasText: "Corner Bakery · shop" }).waitFor();
	await look(page, "alerts");
	// A new secret for its webhooks.
	await webhook.getByRole("button", { name: "Rotate" }).click();
	await dialog(page).getByLabel("Overlap").selectOption("3600");
	await look(page, "alerts-rotate");
	await page.route("**/rotate-secret", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: '{"status":409,"code":"conflict","detail":"This alert is being changed."}' }));
	await dialog(page).getByRole("button", { name: "Rotate secret" }).click();
	await shows(page, "That did not work. This alert is being changed.", "[role=dialog]");
	await page.unroute("**/rotate-secret");
	const sent = page.waitForRequest((request) => request.url().endsWith("/rotate-secret"));
	await dialog(page).getByRole("button", { name: "Rotate secret" }).click();
	expect((await sent).postDataJSON().overlap_seconds === 3600, "the overlap is the chosen one");
	await shows(page, "It is shown now and never again", "[role=dialog]");
	const rotated = await dialog(page).getByText(/^whsec_/).textContent();
	expect(rotated !== secret, "the secret is another one");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await dialog(page).waitFor({ state: "hidden" });
	expect(!(await page.content()).includes(rotated), "it is never shown again");
	await row.getByRole("button", { name: "Delete" }).click();
	await dialog(page).getByRole("button", { name: "Delete" }).click();
	await row.waitFor({ state: "detached" });
	await states(page, "/alerts", "**/api/v1/alerts?*", "No alerts");
}

// retitles changes the title of a product, which is its name where none is given. Its validation stays.
async function retitles(page, row) {
	const open = () => row.getByRole("button", { name: "Change product shop" }).click();
	const save = () => dialog(page).getByRole("button", { name: "Save" }).click();
	const title = dialog(page).getByRole("textbox", { name: "Title", description: "Empty: its name" });
	await row.getByLabel("Validation shop").selectOption("warn");
	await row.locator("option:checked").filter({ hasText: "Warn" }).waitFor({ state: "attached" });
	await open();
	expect((await title.inputValue()) === "shop", "the form has the title");
	await look(page, "tenants-product-title");
	await title.fill("Web shop");
	await page.route("**/api/v1/products/shop", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: '{"status":409,"code":"conflict","detail":"This product is being changed."}' }));
	await save();
	await shows(page, "That did not work. This product is being changed.", "[role=dialog]");
	await page.unroute("**/api/v1/products/shop");
	const changed = page.waitForResponse((response) => response.request().method() === "PUT");
	await save();
	const product = await (await changed).json();
	expect(product.title === "Web shop" && product.validation === "warn", `it is now ${JSON.stringify(product)}`);
	await row.getByRole("cell", { name: "Web shop", exact: true }).waitFor();
	await open();
	expect((await title.inputValue()) === "Web shop", "the form has the new title");
	await title.fill("");
	await save();
	await row.getByRole("cell", { name: "shop", exact: true }).nth(1).waitFor(); // the title beside the prefix
	await open();
	expect((await title.inputValue()) === "shop", "without a title it has its name");
	await title.fill("Web shop");
	await save();
	await row.getByRole("cell", { name: "Web shop", exact: true }).waitFor();
}

// suspends stops a tenant of a hosted product and lets it go on: nothing happens unless that is
// confirmed, and it is deleted only while it is suspended.
async function suspends(page) {
	const row = page.getByRole("row").filter({ hasText: "Pine Clinic" });
	const act = (name) => row.getByRole("button", { name: `${name} Pine Clinic` });
	const confirm = (name) => dialog(page).getByRole("button", { name, exact: true });
	await row.getByText("Active", { exact: true }).waitFor();
	await page.getByRole("button", { name: "Pine Clinic", exact: true }).click();
	await shows(page, "hosted here and names its tenants itself", "[role=dialog]");
	await escapes(page, page.getByRole("button", { name: "Pine Clinic", exact: true }));
	await page.setViewportSize({ width: 900, height: 900 }); // the table scrolls to a button of another row, and stays there
	const other = page.getByRole("button", { name: "Delete Oak Studio" });
	await other.click();
	await shows(page, "Suspend Oak Studio first", "[role=dialog]");
	await closes(page, other);
	await act("Delete").click();
	await shows(page, "Suspend Pine Clinic first", "[role=dialog]");
	await look(page, "tenants-suspend-first");
	await closes(page, act("Delete"));

	await act("Suspend").press("Enter");
	await shows(page, "Within a second its users and keys are refused and its public pages are gone", "[role=dialog]");
	await look(page, "tenants-suspend");
	await escapes(page, act("Suspend"));
	expect((await row.getByText("Active", { exact: true }).count()) === 1, "without a confirmation nothing is suspended");
	await act("Suspend").click();
	await page.route("**/suspend", (route) => route.fulfill(forbidden));
	await confirm("Suspend tenant").click();
	await shows(page, "That did not work. No.", "[role=dialog]");
	await page.unroute("**/suspend");
	await confirm("Suspend tenant").click();
	await row.getByText(/^Suspended · /).waitFor();
	await dialog(page).waitFor({ state: "hidden" });
	await look(page, "tenants-suspended");
	await act("Delete").click();
	await shows(page, "its integrations are revoked", "[role=dialog]");
	expect(await confirm("Delete tenant").isDisabled(), "its name has to be typed");
	await escapes(page, act("Delete"));

	await act("Resume").click();
	await shows(page, "works again within a second", "[role=dialog]");
	await look(page, "tenants-resume");
	await page.route("**/resume", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: '{"status":409,"code":"tenant_deletion_requested","detail":"This tenant is being deleted."}' }));
	await confirm("Resume tenant").click();
	await shows(page, "That did not work. This tenant is being deleted.", "[role=dialog]");
	await page.unroute("**/resume");
	await confirm("Resume tenant").click();
	await row.getByText("Active", { exact: true }).waitFor();

	// What is being deleted is there until that is done, and nothing more can be done with it.
	const at = new Date().toISOString();
	await page.route("**/api/v1/tenants?*", async (route) => {
		const answer = await route.fetch();
		const { items, ...rest } = await answer.json();
		await route.fulfill({ json: { ...rest, items: items.map((item) => (item.name === "Pine Clinic" ? { ...item, suspended_at: at, deletion_requested_at: at } : item)) } });
	});
	await page.reload();
	await row.getByText(/^Being deleted · /).waitFor();
	expect((await row.getByRole("button", { name: /Suspend|Resume|Delete/ }).count()) === 0, "what is being deleted is neither suspended nor resumed");
	await look(page, "tenants-deleting");
	await page.unroute("**/api/v1/tenants?*");
	await page.reload();
	await row.getByText("Active", { exact: true }).waitFor();
}

// deletes deletes a tenant, then its product: each by its name, with the refusals in between.
async function deletes(page) {
	const row = (name) => page.getByRole("row").filter({ hasText: name });
	const send = (name) => dialog(page).getByRole("button", { name });
	await row("Corner Bakery").waitFor();
	// A product that has tenants stays.
	await page.getByRole("button", { name: "Products", exact: true }).click();
	const product = (name) => dialog(page).getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
	await product("notes").getByText("Hosted").waitFor();
	expect((await product("notes").getByRole("button").count()) === 0, "hosted products cannot be deleted");
	await look(page, "tenants-products");
	await retitles(page, product("shop"));
	await product("shop").getByRole("button", { name: "Delete" }).click();
	await shows(page, "Its name and prefix are free again", "[role=dialog]");
	await dialog(page).getByLabel("Name").fill("shop");
	await send("Delete product").click();
	await shows(page, "This product has tenants: 1", "[role=dialog]");
	await look(page, "tenants-product-refused");
	await dialog(page).getByRole("button", { name: "Close" }).click();
	await dialog(page).getByRole("button", { name: "Close" }).click();
	await dialog(page).waitFor({ state: "hidden" });
	// A tenant that is connected to another stays, in the API's words.
	await row("Corner Bakery").getByRole("button", { name: "Delete" }).click();
	await shows(page, "Its keys and endpoints end at once", "[role=dialog]");
	await dialog(page).getByLabel("Name").fill("Corner");
	expect(await send("Delete tenant").isDisabled(), "the whole name has to be typed");
	await dialog(page).getByLabel("Name").fill("Corner Bakery");
	await look(page, "tenants-delete");
	await page.route("**/api/v1/tenants/*", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: '{"status":409,"code":"tenant_connected","detail":"This tenant has integrations."}' }));
	await send("Delete tenant").click();
	await shows(page, "That did not work. This tenant has integrations.", "[role=dialog]");
	await page.unroute("**/api/v1/tenants/*");
	await send("Delete tenant").click();
	await shows(page, "Corner Bakery is deleted. 1 key and 1 endpoint ended with it. Its log is being erased.", "[role=dialog]");
	await look(page, "tenants-deleted");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await row("Corner Bakery").waitFor({ state: "detached" });
	await page.getByRole("button", { name: "Products", exact: true }).click();
	await product("shop").getByRole("button", { name: "Delete" }).click();
	await dialog(page).getByLabel("Name").fill("shop");
	await send("Delete product").click();
	await product("shop").waitFor({ state: "detached" });
	await product("lab").waitFor();
	await page.keyboard.press("Escape");
}

async function tenants(browser) {
	const page = await open(browser, "/tenants");
	await shows(page, "Corner Bakery");
	await look(page, "tenants");
	await page.getByRole("button", { name: "Corner Bakery", exact: true }).click();
	await dialog(page).getByLabel("Endpoints").fill("9");
	await dialog(page).getByLabel("Deliveries per request").fill("50");
	await dialog(page).getByLabel("Concurrent attempts").fill("4");
	await dialog(page).getByLabel("Queue").fill("2000000000"); // more than there can be
	await look(page, "tenants-limits");
	await dialog(page).getByRole("button", { name: "Save" }).click();
	await shows(page, /^That did not work\. limits\.queue /, "[role=dialog]");
	await dialog(page).getByLabel("Queue").fill("700");
	await dialog(page).getByRole("button", { name: "Save" }).click();
	await shows(page, "Endpoints: 9, Deliveries per request: 50, Concurrent attempts: 4, Queue: 700");
	await page.getByRole("button", { name: "Corner Bakery", exact: true }).click();
	expect((await dialog(page).getByLabel("Queue").inputValue()) === "700", "the form shows the limits");
	for (const limit of ["Deliveries per request", "Concurrent attempts", "Queue"]) await dialog(page).getByLabel(limit).fill("");
	await dialog(page).getByRole("button", { name: "Save" }).click();
	await page.getByText("Endpoints: 9", { exact: true }).waitFor(); // the others are defaults again
	await page.getByRole("button", { name: "Register product" }).click();
	await dialog(page).getByLabel("Name").fill("lab");
	await dialog(page).getByLabel("Prefix").fill("lab");
	await dialog(page).getByRole("button", { name: "Register product" }).click();
	await dialog(page).waitFor({ state: "hidden" });
	await page.getByRole("button", { name: "Create tenant" }).click();
	await dialog(page).getByLabel("Product").selectOption("lab");
	await dialog(page).getByLabel("Name").fill("Pine Lab");
	await dialog(page).getByRole("button", { name: "Create tenant" }).click();
	await shows(page, "Pine Lab");
	await page.getByLabel("Product", { exact: true }).selectOption("lab");
	await page.waitForURL(/product=lab/);
	await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length === 1);
	await page.goto(`${place.url}/tenants`);
	await suspends(page);
	await deletes(page);
	await states(page, "/tenants", "**/api/v1/tenants?*", "No tenants yet");
}

async function mail(browser) {
	const page = await open(browser, "/mail");
	await shows(page, "No e-mails yet");
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	const html = '<!doctype html><html><body style="color:rgb(1, 2, 3)"><p>Olá Bia</p></body></html>';
	await page.route("**/api/v1/dev/mail?*", (route) => route.fulfill({ json: { items: [{ id, to: "bia@example.com", subject: "Seu horário", text: "Olá Bia", html, created_at: new Date().toISOString() }], next_cursor: null } }));
	await page.reload();
	await page.getByRole("button", { name: "Seu horário" }).click();
	await page.waitForURL(new RegExp(`letter=${id}`));
	const letter = page.frameLocator("iframe");
	await letter.getByText("Olá Bia").waitFor();
	await page.waitForFunction(() => getComputedStyle(document.querySelector("iframe").contentDocument.body).color === "rgb(1, 2, 3)");
	expect((await page.locator("iframe").getAttribute("sandbox")) === "allow-same-origin", "scripts of letters do not run");
	await look(page, "mail-letter");
	await page.keyboard.press("Escape");
	await page.waitForURL(`${place.url}/mail`);
	await look(page, "mail");
	await page.unroute("**/api/v1/dev/mail?*");
	await states(page, "/mail", "**/api/v1/dev/mail?*", "No e-mails yet");
}

// Support reads, and sees why there are no buttons.
async function support(browser) {
	const { email } = place;
	place.email = "bea@example.com";
	const page = await open(browser, "/keys");
	place.email = email;
	await shows(page, "Administrators can change this.");
	for (const path of ["/keys", "/operators", "/endpoints", "/alerts", "/tenants"]) {
		await page.goto(place.url + path);
		await shows(page, "Administrators can change this.");
		expect(await page.getByRole("button", { name: /Revoke|Rotate|Change|Suspend|Delete|Create|Add/ }).count() === 0, `${path} has no buttons for support`);
	}
	await page.getByRole("button", { name: "Products", exact: true }).click();
	await dialog(page).getByRole("rowheader", { name: "shop" }).waitFor();
	expect((await dialog(page).getByRole("button", { name: /Delete|Change/ }).count()) === 0, "support changes and deletes no products");
	for (const path of ["/tokens", "/mail"]) {
		await page.goto(place.url + path);
		await shows(page, "Not allowed");
	}
	const links = page.getByRole("navigation").getByRole("link");
	expect((await links.filter({ hasText: "Audit log" }).count()) === 1 && (await page.getByRole("link", { name: "Mail", exact: true }).count()) === 0, "support is not led to mails, which have links that set passwords");
}

const parts = { keys, audit, operators, tokens, alerts, tenants, mail, support };
await run(parts[place.part]);
