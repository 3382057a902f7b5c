import { expect, look, open, place, run, shows } from "./console.mjs";

async function found(browser) {
	const page = await open(browser, "/lookup");
	const addresses = [];
	page.on("request", (request) => addresses.push(request.url()));
	await shows(page, "Nothing looked up yet");
	await look(page, "lookup-start");
	await page.getByLabel("Phone number").fill("(11) 98765-4321");
	await page.keyboard.press("Enter");
	await shows(page, "Found for +*********4321");
	await shows(page, "Maria S.");
	await shows(page, "Pine Clinic");
	await shows(page, "note.created", "#things ~ div");
	const links = page.locator("[data-row-link]");
	expect(await links.count() === 2, `the deliveries that touched her: ${await links.count()}`);
	const text = (await page.locator("main section").allInnerTexts()).join();
	expect(!text.includes("98765") && !text.includes("Silva"), `number and name are masked: ${text}`);
	await look(page, "lookup");
	await links.first().click();
	await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
	await shows(page, "note.created", "h1");
	await page.goBack();
	await shows(page, "Maria S."); // the result is still there
	expect(page.url() === `${place.url}/lookup`, "the number is not in the address");
	expect(addresses.length > 0 && !addresses.some((address) => /9?8765.?4321/.test(address)), `the number is in no request's address: ${addresses}`);
	await page.getByRole("button", { name: "Clear" }).click();
	await shows(page, "Nothing looked up yet");
	await page.getByLabel("Phone number").fill("+1 415 555 2671");
	await page.getByRole("button", { name: "Look up" }).click();
	await shows(page, "No product knows this number.");
	await shows(page, "No recent delivery has the number");
	await look(page, "lookup-nothing");
}

async function fails(browser) {
	const page = await open(browser, "/lookup");
	const look_up = async () => {
		await page.getByLabel("Phone number").fill("11 98765-4321");
		await page.getByRole("button", { name: "Look up" }).click();
	};
	await page.getByLabel("Phone number").fill("98765");
	await page.keyboard.press("Enter");
	await shows(page, "must be a phone number with its area code");
	await look(page, "lookup-invalid");
	let answer;
	await page.route("**/api/v1/lookup", (route) => new Promise((go) => { answer = () => go(route.abort()); }));
	await look_up();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "lookup-loading");
	answer();
	await shows(page, "This could not be loaded");
	await look(page, "lookup-error");
	await page.unroute("**/api/v1/lookup");
	await page.getByRole("button", { name: "Try again" }).click();
	await shows(page, "Maria S.");
	await page.route("**/api/v1/lookup", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden"}' }));
	await look_up();
	await shows(page, "Not allowed");
	await look(page, "lookup-forbidden");
}

await run(found, fails);
