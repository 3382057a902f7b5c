import { api, expect, open, place, run, shows } from "./console.mjs";

const dialog = (page) => page.getByRole("dialog");

// chooseUTC stores what the account's menu does.
const chooseUTC = (page, utc) => page.evaluate((utc) => localStorage.setItem("hub.preferences", JSON.stringify({ utc })), utc);

// Times are typed in the zone that is chosen, which their fields name.
async function zones(browser) {
	const page = await open(browser, "/keys", { timezoneId: "America/Sao_Paulo" });
	for (const [utc, zone, expected] of [[true, "UTC", "2031-01-02T10:00:00Z"], [false, "America/Sao_Paulo", "2031-01-02T13:00:00Z"]]) {
		await chooseUTC(page, utc);
		await page.reload();
		await page.getByRole("button", { name: "Create key" }).first().click();
		await dialog(page).getByLabel("Tenant").selectOption({ label: "Corner Bakery · shop" });
		await dialog(page).getByLabel("Name").fill(zone);
		await dialog(page).getByLabel(`(${zone})`).fill("2031-01-02T10:00");
		await dialog(page).getByRole("button", { name: "Create key" }).click();
		await shows(page, "It is shown now and never again", "[role=dialog]");
		const made = (await api("GET", "/keys?environment=live")).items.find(({ name }) => name === zone);
		expect(Date.parse(made?.expires_at) === Date.parse(expected), `a key's end in ${zone}: ${made?.expires_at}`);
	}
	for (const [utc, typed, expected] of [[true, "2026-01-01", "2026-01-01T00:00:00.000Z"], [true, "2026-01-01T10:00", "2026-01-01T10:00:00.000Z"], [false, "2026-01-01", "2026-01-01T03:00:00.000Z"], [false, "2026-01-01T10:00", "2026-01-01T13:00:00.000Z"], [false, "2026-01-01T10:00:00Z", "2026-01-01T10:00:00.000Z"]]) {
		await chooseUTC(page, utc);
		await page.goto(`${place.url}/deliveries`);
		await page.fill("input[name=token]", `since:${typed}`);
		await page.keyboard.press("Enter");
		await page.waitForURL(/since=/);
		const got = new URL(page.url()).searchParams.get("since");
		expect(got === expected, `since:${typed} is ${got}, not ${expected}`);
	}
}

// A count of what would be sent is forgotten after a minute, and a filter that is not valid is not
// the same as none.
async function counts(browser) {
	const page = await open(browser, "/deliveries");
	await page.clock.install();
	await page.goto(`${place.url}/replays?status=delivered`);
	const count = page.getByRole("button", { name: "Count", exact: true });
	await count.click();
	await page.getByRole("button", { name: "Send 1 again" }).waitFor();
	await page.clock.fastForward(61_000);
	await count.waitFor();
	await page.goto(`${place.url}/replays?tenant=${place.tenant.slice(0, 20)}&status=delivered`);
	await shows(page, `ignored: tenant:${place.tenant.slice(0, 20)}`, "[role=alert]");
	expect(await count.isDisabled(), "a filter that is not valid counts nothing");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await page.waitForURL(`${place.url}/replays`);
	expect(await count.isEnabled(), "it counts again");
	await page.goto(`${place.url}/endpoints/${place.endpoint}`);
	await page.getByRole("button", { name: "Recover" }).click();
	await dialog(page).getByLabel(/^Events since/).fill("2026-01-02T10:00");
	await dialog(page).getByRole("button", { name: "Count" }).click();
	await dialog(page).getByRole("button", { name: /^Send/ }).waitFor();
	await page.clock.fastForward(61_000);
	await dialog(page).getByRole("button", { name: "Count" }).waitFor();
}

// A screen that cannot be read again says since when it is not current.
async function outdated(browser) {
	const page = await open(browser, "/deliveries");
	const well = (route) => route.fulfill({ json: { version: "test", now: new Date().toISOString(), checks: [{ check: "sweep", status: "ok", detail: "", advice: "" }] } });
	await page.route("**/api/v1/health", well);
	await page.goto(`${place.url}/system`);
	await shows(page, "All checks passed");
	expect(await page.getByText("Not current since").count() === 0, "it is current");
	await page.route("**/api/v1/health", (route) => route.abort());
	await page.getByRole("button", { name: "Examine again" }).click();
	await shows(page, "Not current since", "[role=status]");
	await shows(page, "Something is broken", "main");
	await page.unroute("**/api/v1/health");
	await page.route("**/api/v1/health", well);
	await page.getByRole("button", { name: "Examine again" }).click();
	await page.getByText("Not current since").waitFor({ state: "hidden" });
	expect(await page.getByText("Something is broken").count() === 0, "it is well again");
}

await run(zones, counts, outdated);
