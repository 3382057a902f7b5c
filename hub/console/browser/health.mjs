import { look, open, run, shows, tryAgain } from "./console.mjs";

async function shown(browser) {
	const page = await open(browser, "/system");
	await shows(page, "Sweep");
	await shows(page, "Outgoing requests");
	await shows(page, "Version");
	await look(page, "health");
	const examined = page.waitForResponse((response) => response.url().endsWith("/api/v1/health"));
	await page.getByRole("button", { name: "Examine again" }).click();
	await examined;
	await page.route("**/api/v1/health", (route) => route.abort());
	await page.reload();
	await shows(page, "This could not be loaded");
	await look(page, "health-error");
	await page.unroute("**/api/v1/health");
	await tryAgain(page);
	await shows(page, "Sweep");
	await page.route("**/api/v1/health", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' }));
	await page.reload();
	await shows(page, "Not allowed");
	await page.unroute("**/api/v1/health");
	await page.route("**/api/v1/health", (route) => route.fulfill({ json: { version: "test", now: new Date().toISOString(), checks: [] } }));
	await page.reload();
	await shows(page, "No checks");
	await look(page, "health-empty");
	await page.unroute("**/api/v1/health");
	await page.route("**/api/v1/health", () => {});
	await page.reload();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "health-loading");
}

// What the hub says is translated, too.
async function translated(browser) {
	for (const [locale, text] of [["pt-BR", "responde em "], ["es-ES", "responde en "]]) {
		const page = await open(browser, "/system", { locale });
		await shows(page, text);
	}
}

await run(shown, translated);
