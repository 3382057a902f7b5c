// Uses the page of the simulated phones in a real browser, with the keyboard alone, and looks
// at each of its states. What is where comes on stdin as JSON.
import { readFileSync } from "node:fs";
import { check, counted, expect, failures, launch, tabTo, visit } from "../../../../hub/hubtest/browser/check.mjs";

const place = JSON.parse(readFileSync(0, "utf8"));
const look = (page, name) => check(page, name, { width: 390, height: 844 });
const status = (page, text) => page.locator("#status", { hasText: text }).waitFor();

async function post(path, body) {
	const response = await fetch(place.base + path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", Authorization: `Bearer ${place.token}` } });
	if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

// field goes to a field with the keyboard and types a text there.
async function field(page, id, text) {
	await tabTo(page, id, `at.id === '${id}'`);
	await page.keyboard.type(text);
}

async function press(page, name, fits) {
	await tabTo(page, name, fits);
	await page.keyboard.press("Enter");
}

async function usesPhone(browser) {
	const page = await visit(browser, { locale: "en-US", viewport: { width: 390, height: 844 } });
	await page.goto(place.base + "/sandbox/phone");
	await page.locator("#no-phones").waitFor();
	await look(page, "no-phone");

	await field(page, "add-number", place.company);
	await field(page, "add-name", "Reception");
	await page.keyboard.press("Enter");
	await status(page, "Reception was added.");
	await look(page, "empty-inbox");
	await field(page, "scan-code", "sandbox:pair?c=1");
	await look(page, "code-to-scan");
	await page.keyboard.press("Enter");
	await page.locator("#status.bad").waitFor();
	await look(page, "error");
	await page.fill("#scan-code", "");
	await field(page, "scan-code", place.code);
	await page.keyboard.press("Enter");
	await status(page, "CONNECTED");
	await look(page, "paired");

	await field(page, "add-number", place.ana);
	await field(page, "add-name", "Ana Souza");
	await page.keyboard.press("Enter");
	await status(page, "Ana Souza was added.");
	await field(page, "send-to", place.company);
	await field(page, "send-body", "Good morning. Is there a time on Friday? " + "https://example.com/".padEnd(120, "x"));
	await press(page, "the button that sends", "at.textContent === 'Send'");
	await page.locator("#chat li.own").waitFor();
	await post("/api/messages/send", { number: place.ana, body: "At ten." });
	await page.locator("#chat li:not(.own)").waitFor();
	await look(page, "chat");
	await tabTo(page, "the messages, to scroll them", "at.id === 'chat'");
	await press(page, "the button that reads", "at.id === 'read'");
	await status(page, "Read.");
	await page.locator("#chat li:not(.own)", { hasText: "read" }).waitFor();
	await press(page, "the first phone", "at.matches('.phones button[aria-pressed=false]')");
	await page.locator("#phone-title", { hasText: "Reception" }).waitFor();
	const hasFocus = await page.waitForFunction(() => document.activeElement.matches(".phones button[aria-pressed=true]"), null, { timeout: 10000 }).then(() => true, () => false);
	expect(hasFocus, "the focus stays on the chosen phone");
	await look(page, "other-phone");
	await page.context().close();
}

const browser = await launch();
try {
	await usesPhone(browser).catch((error) => failures.push(error.stack || String(error)));
} finally {
	await browser.close();
}
console.log(`${counted()} checks, ${failures.length} failures`);
for (const failure of failures) console.log("- " + failure);
process.exit(failures.length || !counted() ? 1 : 0);
