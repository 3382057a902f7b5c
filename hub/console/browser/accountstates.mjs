// What every list of a product's account is held to: its states.
import { look, shows, tryAgain } from "./console.mjs";

const forbidden = { status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' };
const nothing = { items: [], total: 0, page: 1, per_page: 100, pages: 0 };

// states visits a list while it is read, when it cannot be, when it is empty and when it is not
// allowed.
export async function states(page, address, api, name, empty, none = nothing) {
	await page.route(api, () => {});
	await page.goto(address);
	await page.locator("main h1").waitFor(); // the screen is here, not only the place for it
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, `${name}-loading`);
	await page.unroute(api);
	await page.route(api, (route) => route.abort());
	await page.reload();
	await shows(page, "This could not be loaded");
	await look(page, `${name}-error`);
	await page.unroute(api);
	await page.route(api, (route) => route.fulfill({ json: none }));
	await tryAgain(page);
	await shows(page, empty);
	await look(page, `${name}-empty`);
	await page.unroute(api);
	await page.route(api, (route) => route.fulfill(forbidden));
	await page.reload();
	await shows(page, "Not allowed");
	await look(page, `${name}-forbidden`);
	await page.unroute(api);
}
