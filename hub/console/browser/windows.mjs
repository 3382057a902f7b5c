import { api, expect, open, place, run, shows } from "./console.mjs";

const dialog = (page) => page.getByRole("dialog");

// What is shown once stays until it is closed by its button, and a window waits for its request.
async function keepsSecrets(browser) {
	const page = await open(browser, "/keys");
	await page.getByRole("button", { name: "Create key" }).first().click();
	await dialog(page).getByLabel("Tenant").selectOption({ label: "Corner Bakery · shop" });
	let answer;
	const lists = [];
	await page.route(/\/api\/v1\/keys(\?|$)/, (route) => new Promise((go) => {
		const pass = () => go(route.continue());
		if (route.request().method() === "POST") answer = pass;
		else lists.push(pass);
	}));
	const asked = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/keys"));
	await dialog(page).getByRole("button", { name: "Create key" }).click();
	await asked;
	await page.keyboard.press("Escape");
	await page.mouse.click(5, 5);
	expect(await dialog(page).count() === 1, "the window waits for its request");
	expect(await dialog(page).getByRole("button", { name: "Close" }).isDisabled(), "it cannot be closed");
	answer();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	expect(lists.length > 0, "the key does not wait for the list that is read again");
	for (const read of lists) read();
	await page.unroute(/\/api\/v1\/keys(\?|$)/);
	await page.keyboard.press("Escape");
	await page.mouse.click(5, 5);
	expect(await dialog(page).count() === 1, "the key is still there");
	await dialog(page).getByRole("button", { name: "Close" }).last().click();
	await dialog(page).waitFor({ state: "hidden" });
	await page.getByRole("button", { name: "Create key" }).first().click();
	await dialog(page).waitFor();
	await page.keyboard.press("Escape");
	await dialog(page).waitFor({ state: "hidden" });
}

// logsInElsewhere logs in in another tab: the cookie is of all tabs.
const logsInElsewhere = async (page, email) => {
	const answer = await page.context().request.post(`${place.url}/api/v1/session`, { data: { email, password: place.password } });
	expect(answer.ok(), `another login: ${answer.status()}`);
};

async function rename(page, name) {
	await page.getByRole("row").filter({ hasText: "bea@example.com" }).getByRole("button", { name: "Change" }).click();
	await dialog(page).getByLabel("Name").fill(name);
	await dialog(page).getByRole("button", { name: "Change" }).click();
}

const named = async () => (await api("GET", "/operators")).items.find(({ email }) => email === "bea@example.com").name;

// The session of another tab's login is taken over where the operator is the same.
async function followsLogins(browser) {
	const page = await open(browser, "/operators");
	await logsInElsewhere(page, place.email);
	await rename(page, "Bea II");
	await dialog(page).waitFor({ state: "hidden" });
	expect(await named() === "Bea II", "the write is done");
	await logsInElsewhere(page, "bea@example.com");
	await rename(page, "Bea III");
	await shows(page, "Administrators can change this.");
	expect(await named() === "Bea II", "another operator's session is not used unseen");
}

// The end of the session leaves an open form as it is: it can be sent after a login in another tab.
async function outlivesSessions(browser) {
	const page = await open(browser, "/operators");
	await page.context().clearCookies();
	await rename(page, "Bea IV");
	await shows(page, "Your session ended", "[role=dialog]");
	expect(await dialog(page).getByLabel("Name").inputValue() === "Bea IV", "the form has what was typed");
	await logsInElsewhere(page, place.email);
	await dialog(page).getByRole("button", { name: "Change" }).click();
	await dialog(page).waitFor({ state: "hidden" });
	expect(await named() === "Bea IV", "it is sent after the login");
	await page.context().clearCookies();
	await rename(page, "Bea V");
	await shows(page, "Your session ended", "[role=dialog]");
	await page.keyboard.press("Escape");
	await shows(page, "Your session has ended", "main");
	await page.waitForURL(/\/login\?/);
}

await run(keepsSecrets, followsLogins, outlivesSessions);
