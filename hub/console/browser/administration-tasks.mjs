// What support does, in at most six interactions: clicks, choices, and texts with Enter.
import { expect, open, place, run, shows } from "./console.mjs";

const most = 6;

// interactions counts what is done with a page.
function interactions() {
	let count = 0;
	return {
		click: (target) => (count++, target.click()),
		within: (task) => {
			console.log(`${task}: ${count} interactions`);
			expect(count > 0 && count <= most, `${task} takes ${count} interactions`);
		},
	};
}

const link = (page, name) => page.getByRole("navigation").getByRole("link", { name });

async function stopsHalfway(browser) {
	const page = await open(browser, "/overview");
	const does = interactions();
	await does.click(link(page, "Replays"));
	await does.click(page.getByRole("button", { name: "Count", exact: true }));
	await shows(page, /(299|300) deliveries would be sent again/);
	await fetch(`${place.receiver}/open`);
	await does.click(page.getByRole("button", { name: /Send (299|300) again/ }));
	await page.waitForFunction(() => document.querySelector("progress")?.value > 50, undefined, { timeout: 60000 });
	await does.click(page.getByRole("button", { name: "Stop" }));
	await shows(page, "Cancelled");
	const done = await page.locator("progress").evaluate((bar) => bar.value);
	expect(done > 50 && done < 300, `it stopped at ${done} of 300`);
	does.within("send 300 failed ones again and stop halfway");
}

async function findsWhoRevoked(browser) {
	const page = await open(browser, "/overview");
	const does = interactions();
	await does.click(link(page, "API keys"));
	await does.click(page.getByRole("row").filter({ hasText: "old server" }).filter({ hasText: "Revoked" }).getByRole("link"));
	const entry = page.getByRole("row").filter({ hasText: "keys.revoke" });
	await entry.getByText("bea@example.com").waitFor();
	expect(await entry.count() === 1, "it was revoked once");
	does.within("find who revoked a key");
}

async function rotates(browser) {
	const page = await open(browser, "/overview");
	const does = interactions();
	await does.click(link(page, "Endpoints"));
	await does.click(page.getByRole("link", { name: /\/hook$/ }));
	await does.click(page.getByRole("button", { name: "Rotate secret" }));
	await does.click(page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }));
	await shows(page, "It is shown now and never again", "[role=dialog]");
	does.within("rotate a secret");
}

await run(stopsHalfway, findsWhoRevoked, rotates);
