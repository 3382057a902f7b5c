import { expect, look, open, place, run, shows } from "./console.mjs";

async function shown(browser) {
	const page = await open(browser, "/deliveries?type=order.refused");
	await page.locator("[data-row-link]").click();
	await page.getByRole("link", { name: "Show the journey" }).click();
	await shows(page, "Journey", "h1");
	await shows(page, "order.refused");
	await shows(page, "order.paid");
	await shows(page, "2 events, 3 deliveries");
	const texts = await page.locator("ol > li").allInnerTexts();
	expect(texts[0]?.includes("order.refused") && texts.findIndex((text) => text.includes("order.paid")) > 0, `the steps are in the order of time: ${texts}`);
	expect(texts[0]?.includes("shop") && texts[0]?.includes("Corner Bakery"), "a step names product and tenant");
	await look(page, "journey");
	const address = page.url();
	expect(address.endsWith("/journey?correlation=order-77"), `the address has the id: ${address}`);
	await page.locator("ol a").first().click();
	await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
}

async function fails(browser) {
	const page = await open(browser, "/journey");
	await shows(page, "Which correlation id?");
	await look(page, "journey-start");
	await page.getByLabel("Correlation id", { exact: true }).fill("nothing-77");
	await page.keyboard.press("Enter");
	await page.waitForURL(/correlation=nothing-77/);
	await shows(page, "Nothing has this correlation id");
	await look(page, "journey-empty");
	let answer;
	await page.route("**/api/v1/deliveries?*", (route) => new Promise((go) => { answer = () => go(route.continue()); }));
	await page.goto(`${place.url}/journey?correlation=order-77`);
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "journey-loading");
	answer();
	await shows(page, "order.refused");
	await page.unroute("**/api/v1/deliveries?*");
	await page.route("**/api/v1/deliveries?*", (route) => route.abort());
	await page.goto(`${place.url}/journey?correlation=order-78`);
	await shows(page, "This could not be loaded");
	await look(page, "journey-error");
	await page.unroute("**/api/v1/deliveries?*");
	await page.route("**/api/v1/deliveries?*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden"}' }));
	await page.goto(`${place.url}/journey?correlation=order-79`);
	await shows(page, "Not allowed");
	await look(page, "journey-forbidden");
}

await run(shown, fails);
