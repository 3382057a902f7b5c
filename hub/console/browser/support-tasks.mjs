// Support tasks, each in at most six interactions: a click, a key or a filled field is one.
import { expect, open, place, run, shows } from "./console.mjs";

// counting returns a page whose interactions are counted.
function counting(page) {
	let made = 0;
	const counted = (act) => async (...args) => { made++; return act(...args); };
	return {
		click: counted((locator) => locator.click()),
		fill: counted((locator, text) => locator.fill(text)),
		press: counted((key) => page.keyboard.press(key)),
		made: () => made,
	};
}

function done(task, user) {
	console.log(`${task}: ${user.made()} interactions`);
	expect(user.made() > 0 && user.made() <= 6, `${task} takes ${user.made()} interactions`);
}

// Find the delivery that a phone number complains about.
async function findsByPhone(browser) {
	const page = await open(browser, "/overview");
	const user = counting(page);
	await user.click(page.getByRole("link", { name: "Lookup" }));
	await user.fill(page.getByLabel("Phone number"), "(11) 98765-4321");
	await user.press("Enter");
	await shows(page, "Deliveries that touched them");
	await user.click(page.getByRole("row", { name: /Parked/ }).locator("[data-row-link]"));
	await shows(page, "note.created", "h1");
	await shows(page, "Why it waits");
	await shows(page, "The receiver is disabled.");
	done("find the delivery that a phone number complains about", user);
}

// Say why a webhook failed, and show the receiver the exact request.
async function explainsFailure(browser) {
	const page = await open(browser, "/overview", { permissions: ["clipboard-read", "clipboard-write"] });
	const user = counting(page);
	await user.press("/");
	await user.fill(page.getByRole("searchbox"), "order-77");
	await user.press("Enter");
	await page.waitForURL(/q=order-77/);
	await user.click(page.locator("[data-row-link]"));
	await shows(page, "the stock is locked"); // why
	await shows(page, "500");
	await user.press("c");
	await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("curl"));
	const curl = await page.evaluate(() => navigator.clipboard.readText());
	expect(curl.includes("/hook'") && curl.includes(`it'\\''s late`) && curl.includes("webhook-id"), `the exact request: ${curl}`);
	done("say why a webhook failed and show the receiver the exact request", user);
}

// Connect two products.
async function connects(browser) {
	const page = await open(browser, "/overview");
	const user = counting(page);
	await user.click(page.getByRole("link", { name: "Connect", exact: true }));
	await user.click(page.getByText(/Pine Clinic.*Elm House|Elm House.*Pine Clinic/).first());
	await user.click(page.getByRole("button", { name: "Connect" }).first());
	await shows(page, "Connected.");
	done("connect two products", user);
}

await run(findsByPhone, explainsFailure, connects);
