// What the tests of products' accounts share.
import { visit } from "../../hubtest/browser/check.mjs";
import { place } from "./console.mjs";

export async function logInAccount(page, password = place.password, email = place.email) {
	await page.fill("input[name=email]", email);
	await page.fill("input[name=password]", password);
	await page.click("button[type=submit]");
}

// openAccount logs in with the product's account and opens a path below its address.
export async function openAccount(browser, path, email = place.email, options = {}) {
	const page = await visit(browser, { locale: "en-US", viewport: { width: 1280, height: 900 }, ...options });
	await page.goto(`${place.url}/account/${place.product}${path}`);
	await logInAccount(page, place.password, email);
	await page.waitForSelector("#content h1, #content h2");
	return page;
}
