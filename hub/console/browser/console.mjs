// What the tests of all screens share: a logged-in page, and looks at it.
import { readFileSync } from "node:fs";
import { check, counted, expect, failures, launch, visit } from "../../hubtest/browser/check.mjs";

export { expect };
export const place = JSON.parse(readFileSync(0, "utf8"));
const desktop = { width: 1280, height: 900 };

// look holds a page to what every page is held to, and goes back to the desktop.
export async function look(page, name) {
	await check(page, name);
	const [title, heading] = await page.evaluate(() => [document.title, document.querySelector("h1")?.textContent]);
	expect(title === (heading === "Integration Hub" ? heading : `${heading} · Integration Hub`), `the tab of ${name} says ${title}, the page ${heading}`);
	await page.setViewportSize(desktop);
}

export async function logIn(page, password = place.password) {
	await page.fill("input[name=email]", place.email);
	await page.fill("input[name=password]", password);
	await page.click("button[type=submit]");
}

// open logs in and opens a path of the console.
export async function open(browser, path, options = {}) {
	const page = await visit(browser, { locale: "en-US", viewport: desktop, ...options });
	await page.goto(place.url + path);
	await logIn(page);
	await page.waitForSelector("#content h1");
	return page;
}

// api calls the hub's API as a program: what others do while a page is open.
export async function api(method, path, body) {
	const key = path.startsWith("/events") ? { "X-Integration-Key": place.key } : { Authorization: `Bearer ${place.token}` };
	const answer = await fetch(`${place.url}/api/v1${path}`, { method, headers: { "Content-Type": "application/json", ...key }, body: body && JSON.stringify(body) });
	if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
	return answer.json();
}

// shows waits until a text is on the page; else it is a failure.
export async function shows(page, text, where = "body") {
	const found = await page.locator(where).getByText(text).first().waitFor({ timeout: 45000 }).then(() => true, () => false);
	expect(found, `${page.url()} shows ${text}: ${found ? "" : await page.locator("body").innerText()}`);
}

// escapes closes a dialog: what opened it has the focus again.
export async function escapes(page, opener) {
	await page.keyboard.press("Escape");
	await closed(page, opener);
}

// closes closes a dialog by its button, as what is shown once needs.
export async function closes(page, opener) {
	await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
	await closed(page, opener);
}

async function closed(page, opener) {
	await page.getByRole("dialog").waitFor({ state: "hidden" });
	expect(await opener.evaluate((element) => element === document.activeElement), `the focus is back on ${await opener.innerText()}, not on ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 80))}`);
}

// tryAgain presses "Try again". Where the page reads again by itself, that may be quicker.
export async function tryAgain(page) {
	const button = page.getByRole("button", { name: "Try again" });
	await Promise.race([button.click().catch(() => {}), button.waitFor({ state: "hidden" })]);
}

// run runs the steps in one browser each, and fails where a claim did not hold.
export async function run(...steps) {
	const browser = await launch();
	try {
		for (const step of steps) await step(browser).catch((error) => failures.push(`${step.name}: ${error.stack || error}`));
	} finally {
		await browser.close();
	}
	console.log(`${counted()} checks, ${failures.length} failed`);
	for (const failure of failures) console.log(`- ${failure}`);
	process.exitCode = failures.length || !counted() ? 1 : 0;
}
