import { expect, look, open, place, run, shows, tryAgain } from "./console.mjs";

async function shown(browser) {
	const page = await open(browser, "/map");
	await page.locator("tbody tr").first().waitFor();
	expect(await page.locator("tbody tr").count() === 2, "the table has both directions");
	expect(await page.locator("svg[role=img] path").count() === 2, "the diagram has both directions");
	expect(await page.locator("svg[role=img] rect").count() === 2, "both accounts are drawn, and none besides");
	expect(await page.locator("svg[role=img] path[data-state=idle]").count() === 2, "nothing was sent yet");
	await look(page, "map");
	// Errors colour the edge, in the diagram and in words.
	await page.route("**/api/v1/stats/receivers", async (route) => {
		const list = await (await page.request.get(`${place.url}/api/v1/integrations?product=board`)).json();
		const hours = Array(24).fill(0);
		await route.fulfill({ json: { to: new Date().toISOString(), items: [{ receiver_id: list.items[0].id, tenant_id: list.items[0].tenant_id, attempts: 50, errors: 20, failed: 3, attempts_by_hour: hours, errors_by_hour: hours }] } });
	});
	await page.reload();
	await page.locator("svg[role=img] path[data-state=bad]").waitFor({ state: "attached" }); // a level line has no height
	await shows(page, "Many errors, or broken", "tbody");
	await look(page, "map-errors");
	await page.getByRole("link", { name: "Pine Clinic" }).click();
	await page.waitForURL(/\/integrations\/[0-9a-f-]{36}$/);
}

async function fails(browser) {
	const page = await open(browser, "/map?environment=test");
	await shows(page, "Nothing is connected yet");
	await look(page, "map-empty");
	await page.route("**/api/v1/stats/receivers", (route) => route.abort());
	await page.goto(`${place.url}/map`);
	await shows(page, "This could not be loaded");
	await look(page, "map-error");
	await page.unroute("**/api/v1/stats/receivers");
	await tryAgain(page);
	await page.locator("tbody tr").first().waitFor();
	await page.route("**/api/v1/integrations?*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' }));
	await page.reload();
	await shows(page, "Not allowed");
	await page.unroute("**/api/v1/integrations?*");
	await page.route("**/api/v1/integrations?*", () => {});
	await page.reload();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "map-loading");
}

await run(shown, fails);
