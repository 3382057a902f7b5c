// The login of a product's account, its shell, and what it keeps apart.
import { visit } from "../../hubtest/browser/check.mjs";
import { expect, look, place, run, shows } from "./console.mjs";
import { logInAccount, openAccount } from "./accounts.mjs";

const base = `${place.url}/account/${place.product}`;
const title = { scheduling: "Scheduling", clinic: "Clinic", messaging: "Messaging" }[place.product];

async function logsIn(browser) {
	const page = await visit(browser, { locale: "en-US", viewport: { width: 1280, height: 900 } });
	const operators = [];
	page.on("request", (request) => new URL(request.url()).pathname.startsWith("/api/") && operators.push(request.url()));
	await page.goto(`${place.url}/login`);
	await page.getByLabel("Log in as").selectOption({ label: `Account of ${title}` });
	await page.waitForURL(new RegExp(`as=${place.product}`));
	await look(page, `account-login-${place.product}`);
	await logInAccount(page, "not the password");
	await shows(page, "E-mail address or password is wrong.");
	await logInAccount(page);
	await page.waitForURL(`${base}/integrations`);
	await shows(page, place.tenant, "nav");
	await shows(page, "No integrations yet");
	await look(page, `account-integrations-empty-${place.product}`);
	// Nothing that scripts keep outlives the tab, and nothing of it is the access token.
	const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
	expect(!/token|msgr_|schr_|clir_/.test(kept), `nothing is stored while the page is open: ${kept}`);
	await page.reload();
	await shows(page, "No integrations yet");
	await page.reload();
	await shows(page, "No integrations yet");
	await page.getByText("Test", { exact: true }).click();
	await page.waitForURL(/environment=test/);
	const asked = page.waitForRequest((request) => request.url().endsWith("/api/v1/integrations") && request.headers()["x-environment"] === "test");
	await page.reload();
	await asked;
	await shows(page, "No integrations yet");
	expect(operators.length === 0, `no request to the operators' API: ${operators}`);
	// The operators' screens ask for an operator's login.
	await page.goto(`${place.url}/deliveries`);
	await page.waitForURL(/\/login\?to=/);
	// An account of another product is not logged in.
	const other = place.product === "clinic" ? "scheduling" : "clinic";
	await page.goto(`${place.url}/account/${other}/integrations`);
	await page.waitForURL(new RegExp(`/login\\?.*as=${other}`));
	await page.goto(`${place.url}/account/nothing/integrations`);
	await shows(page, "Not found");
}

async function logsOut(browser) {
	const page = await openAccount(browser, "/integrations");
	const authorization = page.waitForRequest((request) => request.url().endsWith("/api/v1/integrations")).then((request) => request.headers().authorization);
	await page.reload();
	const token = await authorization;
	await page.getByRole("button", { name: /^Account/ }).click();
	await look(page, `account-menu-${place.product}`);
	await page.getByRole("button", { name: "Log out" }).click();
	await page.waitForURL(/\/login\?as=/);
	const status = await page.evaluate(([url, header]) => fetch(url, { headers: { Authorization: header } }).then((answer) => answer.status), [`${place.url}/${place.product}/api/v1/integrations`, token]);
	expect(status === 401, `the token ended with the login: ${status}`);
	await page.goto(`${base}/integrations`);
	await page.waitForURL(/\/login\?/);
}

async function renews(browser) {
	const page = await openAccount(browser, "/integrations");
	let refused = 0;
	// The access token expires: the first answer is 401.
	await page.route("**/api/v1/integrations", (route) => (refused++ < 1 ? route.fulfill({ status: 401, json: { code: "invalid_token" } }) : route.continue()));
	await page.reload();
	await shows(page, "No integrations yet");
	expect(refused > 1, "the request was sent again with a new token");
	// The login ends: the login page says so, and leads back.
	await page.route("**/auth/refresh*", (route) => route.fulfill({ status: 401, json: { code: "invalid_refresh_token" } }));
	await page.unroute("**/api/v1/integrations");
	await page.route("**/api/v1/integrations", (route) => route.fulfill({ status: 401, json: { code: "invalid_token" } }));
	await page.getByText("Test", { exact: true }).click();
	await shows(page, "Your session has ended");
	await page.unroute("**/api/v1/integrations");
	await page.unroute("**/auth/refresh*");
	await logInAccount(page);
	await page.waitForURL(`${base}/integrations?environment=test`);
}

async function staff(browser) {
	const page = await openAccount(browser, "/integrations", place.staff);
	await shows(page, "Not allowed");
	await shows(page, "An administrator can do it");
	await look(page, `account-forbidden-${place.product}`);
}

await run(logsIn, logsOut, renews, staff);
