// A messaging company's connections, as they change.
import { openAccount } from "./accounts.mjs";
import { states } from "./accountstates.mjs";
import { expect, look, place, run, shows } from "./console.mjs";

const base = `${place.url}/account/messaging/connections`;
const dialog = (page) => page.getByRole("dialog");

// act calls the product beside the page, as its network and other people do.
async function act(method, path, body) {
	const answer = await fetch(`${place.url}/messaging${path}`, { method, headers: { "Content-Type": "application/json", Authorization: `Bearer ${place.token}` }, body: body && JSON.stringify(body) });
	const text = await answer.text();
	expect(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
	return JSON.parse(text || "{}");
}

async function pairs(browser) {
	const page = await openAccount(browser, "/connections");
	let loads = 0;
	page.on("load", () => loads++);
	await shows(page, "No connections yet");
	// A company has one set of data: there is nothing to choose here, and elsewhere there is.
	const environments = page.getByRole("radiogroup", { name: "Environment" });
	expect((await environments.count()) === 0, "live and test data are not apart here");
	await page.getByRole("link", { name: "API keys" }).click();
	await environments.waitFor();
	await page.getByRole("link", { name: "Chat connections" }).click();
	await environments.waitFor({ state: "detached" });
	await look(page, "account-connections-empty");
	await page.getByRole("button", { name: "Add connection" }).click();
	await dialog(page).getByLabel("Name").fill("Reception");
	await look(page, "account-connections-new");
	await dialog(page).getByRole("button", { name: "Add connection" }).click();
	await page.waitForURL(`${base}/1`);
	const code = page.getByRole("img", { name: "QR code that pairs a phone with Reception" });
	await code.waitFor();
	await shows(page, "Live", "main");
	await look(page, "account-connection-code");
	const first = await code.getAttribute("src");
	await page.getByRole("button", { name: "Pair anew" }).click();
	await dialog(page).getByRole("button", { name: "Pair anew" }).click();
	await dialog(page).waitFor({ state: "hidden" });
	await page.waitForFunction((was) => document.querySelector("main img")?.src && document.querySelector("main img").src !== was, first);
	// What happens at the network is seen as it happens.
	const { qrcode } = await act("GET", "/whatsapp/1/qrCode");
	await act("POST", `/sandbox/phones/${place.number}/scan`, { code: qrcode });
	await shows(page, "Connected", "main [role=status]");
	await code.waitFor({ state: "detached" });
	await shows(page, place.number, "dl");
	await look(page, "account-connection-connected");
	await act("POST", "/sandbox/connections/1/offline");
	await shows(page, "Network does not respond", "main [role=status]");
	await look(page, "account-connection-offline");
	await act("POST", "/sandbox/connections/1/online");
	await shows(page, "Connected", "main [role=status]");
	expect(loads === 0, "nothing was loaded again");
	await page.getByRole("button", { name: "Log out", exact: true }).click();
	await dialog(page).getByRole("button", { name: "Log out" }).click();
	await shows(page, "Disconnected", "main [role=status]");
	await page.getByRole("button", { name: "Start" }).click();
	await code.waitFor();
}

async function settings(browser) {
	const page = await openAccount(browser, "/connections/1");
	await page.getByRole("button", { name: "Settings" }).click();
	await dialog(page).getByRole("checkbox", { name: "Sales" }).check();
	await dialog(page).getByRole("checkbox", { name: "Support" }).check();
	await dialog(page).getByLabel("Name").fill("Front desk");
	await look(page, "account-connection-settings");
	await dialog(page).getByRole("button", { name: "Save" }).click();
	await shows(page, "needs a greetingMessage", "[role=dialog]");
	await dialog(page).getByLabel("Greeting", { exact: true }).fill("Olá!");
	await dialog(page).getByLabel("Messages of campaigns a day").fill("500");
	await dialog(page).getByRole("button", { name: "Save" }).click();
	await dialog(page).waitFor({ state: "hidden" });
	await shows(page, "Front desk", "h1");
	await shows(page, "Sales, Support", "dl");
	await shows(page, "500", "dl");
	const kept = await act("GET", "/whatsapp/1");
	expect(kept.greetingMessage === "Olá!" && kept.dailyLimit === 500 && kept.queueIds.length === 2, `the settings are kept: ${JSON.stringify(kept)}`);
}

async function cloud(browser) {
	const page = await openAccount(browser, "/connections");
	await shows(page, "Front desk", "[role=table]");
	await page.getByRole("button", { name: "Add connection" }).click();
	await dialog(page).getByLabel("Name").fill("Cloud");
	await dialog(page).getByLabel("Network").selectOption("bridge");
	await shows(page, "speaks the bridge protocol", "[role=dialog]");
	await dialog(page).getByLabel("Network").selectOption("cloud");
	for (const [name, value] of [["Phone number id", "106540352242922"], ["WhatsApp Business account id", "102290129340398"], ["Access token", "EAAGm0PX4ZCpsBA"], ["App secret", "0123456789abcdef"], ["Verify token", "chosen"]]) await dialog(page).getByLabel(name).fill(value);
	await look(page, "account-connections-cloud");
	await dialog(page).getByRole("button", { name: "Add connection" }).click();
	await page.waitForURL(`${base}/2`);
	await shows(page, "/messaging/webhooks/cloud/2", "dl");
	expect(!(await page.content()).includes("EAAGm0PX4ZCpsBA"), "the account is never shown");
	await look(page, "account-connection-cloud");
	await page.getByRole("button", { name: "Change account" }).click();
	await dialog(page).getByLabel("Verify token").fill("another");
	await dialog(page).getByRole("button", { name: "Save" }).click();
	await dialog(page).waitFor({ state: "hidden" });
}

// The list follows too, and says when it cannot.
async function list(browser) {
	const page = await openAccount(browser, "/connections");
	await shows(page, "Front desk", "[role=table]");
	await shows(page, "Live", "main");
	await look(page, "account-connections");
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForURL(`${base}/1`);
	await page.goBack();
	await shows(page, "Live", "main");
	const { id } = await act("POST", "/whatsapp", { name: "Made elsewhere" });
	await shows(page, "Made elsewhere", "[role=table]");
	await act("DELETE", `/whatsapp/${id}`);
	await page.getByText("Made elsewhere").waitFor({ state: "detached" });
	await page.route("**/messaging/events/ticket", (route) => route.abort());
	await page.reload();
	await shows(page, "Live updates lost; trying again");
	await look(page, "account-connections-lost");
	await act("PUT", "/whatsapp/1", { name: "Reception" }); // seen without the stream, by reading
	await shows(page, "Reception", "[role=table]");
	await page.unroute("**/messaging/events/ticket");
	await page.getByText("Live", { exact: true }).and(page.locator("main *")).first().waitFor();
}

async function deletes(browser) {
	const page = await openAccount(browser, "/connections/1");
	await page.getByRole("button", { name: "Delete" }).click();
	const send = dialog(page).getByRole("button", { name: "Delete" });
	await dialog(page).getByLabel("Name").fill("Recep");
	expect(await send.isDisabled(), "the name has to be typed");
	await look(page, "account-connection-delete");
	await dialog(page).getByLabel("Name").fill("Reception");
	await send.click();
	await page.waitForURL(base);
	await shows(page, "Cloud", "[role=table]");
	expect((await page.getByText("Reception").count()) === 0, "it is gone");
	await page.goto(`${base}/1`);
	await shows(page, "There is no connection 1.");
	await page.goto(`${base}/x`);
	await shows(page, "There is no connection x.");
	await page.goto(`${place.url}/account/messaging/inbox`); // the clinic's
	await shows(page, "Not found");
	for (const [locale, title] of [["pt-BR", "Conexões de chat"], ["es", "Conexiones de chat"]]) {
		const other = await openAccount(browser, "/connections/2", place.email, { locale });
		await shows(other, title, "nav");
		await look(other, `account-connection-${locale}`);
	}
	await states(page, base, "**/messaging/whatsapp", "account-connections", "No connections yet", []);
}

await run(pairs, settings, cloud, list, deletes);
