import { expect, look, open, place, run, shows, tryAgain } from "./console.mjs";

const bars = (page) => page.getByRole("slider", { name: /Deliveries by time/ });

// chooseDelivered chooses the bar of the deliveries by the keyboard: the last, or the one before
// it where a new one has begun since. It returns where the bar is, from 0 to 1.
async function chooseDelivered(page) {
	await bars(page).focus();
	const text = () => bars(page).getAttribute("aria-valuetext");
	await page.keyboard.press("ArrowLeft");
	await page.keyboard.press("End");
	if (!/20 delivered/.test(await text())) await page.keyboard.press("ArrowLeft");
	expect(/20 delivered/.test(await text()), `the bar says what it counts: ${await text()}`);
	const [index, last] = await Promise.all(["aria-valuenow", "aria-valuemax"].map((name) => bars(page).getAttribute(name)));
	return (Number(index) + 0.5) / (Number(last) + 1);
}

async function shown(browser) {
	const page = await open(browser, "/");
	await page.waitForURL(`${place.url}/overview`);
	await bars(page).waitFor();
	await shows(page, "Failing integrations");
	await look(page, "overview");
	// The keyboard: the last bar is chosen, and Enter shows its deliveries.
	await chooseDelivered(page);
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/deliveries\?since=.*&until=/);
	await page.locator("[data-row-link]").first().waitFor();
	await page.goBack();
	// A click does the same.
	await bars(page).waitFor();
	const at = await chooseDelivered(page);
	const box = await bars(page).boundingBox();
	await bars(page).click({ position: { x: at * box.width, y: box.height - 3 } });
	await page.waitForURL(/\/deliveries\?since=.*&until=/);
	await page.locator("[data-row-link]").first().waitFor();
	await page.goBack();
	await page.getByText("As a table").click();
	await page.locator("tbody tr").first().waitFor();
	await look(page, "overview-table");
	await page.getByLabel("Time", { exact: true }).selectOption("hour");
	await page.waitForURL(/range=hour/);
	await bars(page).waitFor();
	await page.goto(`${place.url}/overview?range=bogus`);
	await page.waitForURL(`${place.url}/overview`);
}

async function fails(browser) {
	const page = await open(browser, "/overview");
	await bars(page).waitFor();
	await page.route("**/api/v1/stats?*", (route) => route.abort());
	await page.reload();
	await shows(page, "This could not be loaded");
	await look(page, "overview-error");
	await page.unroute("**/api/v1/stats?*");
	await tryAgain(page);
	await bars(page).waitFor();
	await page.route("**/api/v1/stats?*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' }));
	await page.reload();
	await shows(page, "Not allowed");
	await page.unroute("**/api/v1/stats?*");
	await page.route("**/api/v1/stats?*", async (route) => {
		const answer = await (await route.fetch()).json();
		for (const bucket of answer.items) Object.assign(bucket, { accepted: 0, delivered: 0, failed: 0, parked: 0 });
		await route.fulfill({ json: answer });
	});
	await page.reload();
	await shows(page, "Nothing was sent in this time");
	await look(page, "overview-empty");
	await page.unroute("**/api/v1/stats?*");
	await page.route("**/api/v1/stats?*", () => {});
	await page.reload();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "overview-loading");
}

await run(shown, fails);
