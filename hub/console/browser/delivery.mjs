import { expect, look, open, place, run, shows } from "./console.mjs";

async function shown(browser) {
	const page = await open(browser, "/deliveries?type=order.refused", { permissions: ["clipboard-read", "clipboard-write"] });
	await page.locator("[data-row-link]").click();
	await shows(page, "order.refused", "h1");
	await shows(page, "Warehouse");
	await shows(page, "the stock is locked");
	await shows(page, "First byte");
	await look(page, "delivery");
	await page.locator("dl button").last().focus();
	await page.keyboard.press("Tab");
	await shows(page, /\d{4}.*\d:\d\d:\d\d/, "[role=tooltip]");
	// The command has the body, and no secret.
	await page.keyboard.press("c");
	await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("curl"));
	const curl = await page.evaluate(() => navigator.clipboard.readText());
	expect(curl.includes("/hook'") && curl.includes(`it'\\''s late`), `the command is complete: ${curl}`);
	expect(curl.includes(`"data":${place.data.replaceAll("'", "'\\''")}}'`), `the command has the bytes that were sent: ${curl}`);
	for (const text of ['"big": 1152921504606846977', '"dec": 0.1234567890123456789012345', '"exp": 1e40', '"neg": -0', '"list": []']) await shows(page, text, "pre");
	expect(!/signature|whsec|sha256=/i.test(curl), `the command has no signature: ${curl}`);
	await page.getByRole("button", { name: "Copy link" }).click();
	await page.waitForFunction(async () => (await navigator.clipboard.readText()) === window.location.href);
	const answered = page.waitForResponse((response) => response.url().endsWith("/retry"));
	await page.locator("h1").click();
	await page.keyboard.press("r");
	expect((await answered).status() === 202, "it is sent again");
	await shows(page, "It will be sent again now.");
}

async function fails(browser) {
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	const page = await open(browser, "/deliveries");
	await page.goto(`${place.url}/deliveries/${id}`);
	await shows(page, `There is no delivery ${id}.`);
	await look(page, "delivery-missing");
	await page.goto(`${place.url}/deliveries/nothing`);
	await shows(page, "There is no delivery nothing.");
	await page.route("**/api/v1/deliveries/*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"admin_only","detail":"Only administrators may do this."}' }));
	await page.goto(`${place.url}/deliveries/${id}`);
	await shows(page, "Not allowed");
	await look(page, "delivery-forbidden");
	await page.unroute("**/api/v1/deliveries/*");
	await page.route("**/api/v1/deliveries/*", (route) => route.abort());
	await page.goto(`${place.url}/deliveries/${id}`);
	await shows(page, "The hub does not respond.");
	await look(page, "delivery-error");
}

await run(shown, fails);
