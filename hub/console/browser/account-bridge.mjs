// A connection whose session a bridge keeps: made, paired by its QR code, connected.
import { openAccount } from "./accounts.mjs";
import { expect, look, place, run, shows } from "./console.mjs";

const dialog = (page) => page.getByRole("dialog");

async function pairs(browser) {
	const page = await openAccount(browser, "/connections", undefined, { permissions: ["clipboard-read", "clipboard-write"] });
	let loads = 0;
	page.on("load", () => loads++);
	await page.getByRole("button", { name: "Add connection" }).click();
	await dialog(page).getByLabel("Name").fill("Reception");
	await dialog(page).getByLabel("Network").selectOption({ label: "Session service (bridge)" });
	await dialog(page).getByLabel("Address of the bridge").fill(place.bridge);
	await dialog(page).getByLabel("Shared secret").fill("too short");
	await dialog(page).getByRole("button", { name: "Add connection" }).click();
	await shows(page, "That did not work.", "[role=dialog]");
	await look(page, "account-connections-bridge");
	await dialog(page).getByLabel("Shared secret").fill(place.secret);
	await dialog(page).getByRole("button", { name: "Add connection" }).click();
	await page.waitForURL(/\/connections\/\d+$/);
	await shows(page, "Waits for a scan", "main [role=status]");
	const image = page.getByRole("img", { name: "QR code that pairs a phone with Reception" });
	await image.waitFor();
	await look(page, "account-connection-bridge-code");
	await page.getByRole("button", { name: "Copy The code as text" }).click();
	await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("bridge:"));
	const code = await page.evaluate(() => navigator.clipboard.readText());
	const scanned = await fetch(`${place.phone}/scan`, { method: "POST", body: code });
	expect(scanned.status === 200, `the phone scans the code that the page shows: ${scanned.status}`);
	await shows(page, "Connected", "main [role=status]");
	await image.waitFor({ state: "detached" });
	await shows(page, place.number, "dl");
	expect(loads === 0, "nothing was loaded again");
	expect(!(await page.content()).includes(place.secret), "the secret is never shown");
	await look(page, "account-connection-bridge");
}

await run(pairs);
