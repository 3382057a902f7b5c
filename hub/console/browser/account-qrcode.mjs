// A QR code that has expired is replaced by the next one, without a reload.
import { openAccount } from "./accounts.mjs";
import { expect, run } from "./console.mjs";

async function renews(browser) {
	const page = await openAccount(browser, "/connections/1");
	const code = page.getByRole("img", { name: /^QR code/ });
	await code.waitFor();
	let loads = 0;
	page.on("load", () => loads++);
	const first = await code.getAttribute("src");
	await page.waitForFunction((was) => document.querySelector("main img")?.src && document.querySelector("main img").src !== was, first, { timeout: 150_000 }); // where opening took longer than the first one lasts, the second one expires after a minute
	expect(loads === 0, "nothing was loaded again");
}

await run(renews);
