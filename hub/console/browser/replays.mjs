import { expect, look, open, place, run, shows } from "./console.mjs";

// settled waits until the job has settled some, and returns how many.
async function settled(page) {
	await page.waitForFunction(() => document.querySelector("progress")?.value > 0, undefined, { timeout: 60000 });
	return page.locator("progress").evaluate((bar) => bar.value);
}

async function start(browser) {
	const page = await open(browser, "/replays?bogus=1");
	await page.waitForURL(`${place.url}/replays`);
	await shows(page, "No replays yet");
	await look(page, "replays-empty");
	await page.fill("input[name=token]", "type:order.nothing");
	await page.keyboard.press("Enter");
	await page.waitForURL(/type=order\.nothing/);
	await page.getByRole("button", { name: "Count", exact: true }).click();
	await shows(page, "0 deliveries would be sent again.");
	expect(await page.getByRole("button", { name: "Send 0 again" }).isDisabled(), "nothing is not sent");
	await page.getByRole("button", { name: "Remove the filter type:order.nothing" }).click();
	await page.getByRole("button", { name: "Count", exact: true }).click();
	await shows(page, /(299|300) deliveries would be sent again/);
	await look(page, "replays-counted");
	await fetch(`${place.receiver}/open`);
	await page.getByRole("button", { name: /Send (299|300) again/ }).click();
	await page.waitForURL(/\/replays\/[0-9a-f-]{36}$/);
	await settled(page);
	await page.reload();
	expect((await settled(page)) > 0, "the progress is there after a reload");
	await shows(page, "Running");
	await look(page, "replay-running");
	await page.goto(`${place.url}/replays`);
	await shows(page, "status:failing");
	await look(page, "replays");
	await page.route("**/api/v1/replays?*", (route) => route.abort());
	await page.reload();
	await shows(page, "This could not be loaded");
	await look(page, "replays-error");
	await page.unroute("**/api/v1/replays?*");
	await page.route("**/api/v1/replays?*", () => {});
	await page.reload();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "replays-loading");
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	await page.goto(`${place.url}/replays/${id}`);
	await shows(page, `There is no replay ${id}.`);
	await look(page, "replay-missing");
	await page.route("**/api/v1/replays/*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' }));
	await page.reload();
	await shows(page, "Not allowed");
}

async function running(browser) {
	const page = await open(browser, `/replays/${place.replay}`);
	expect((await settled(page)) > 0, "the progress is there after a restart");
	await shows(page, /Replay of (299|300) deliveries/, "h1");
	await page.getByRole("button", { name: "Stop" }).waitFor();
}

async function done(browser) {
	const page = await open(browser, `/replays/${place.replay}`);
	await page.waitForFunction(() => document.querySelector("progress")?.value >= document.querySelector("progress")?.max, undefined, { timeout: 120000 });
	await shows(page, /(299 of 299|300 of 300) settled/);
	await shows(page, "Done");
	expect(await page.getByRole("button", { name: "Stop" }).count() === 0, "there is nothing to stop");
	await look(page, "replay-done");
}

const parts = { start, running, done };
await run(parts[place.part]);
