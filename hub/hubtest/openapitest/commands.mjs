// Opens a reference page in a browser and prints, as JSON, the command it shows for each
// operation, by the operation's id.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.HUB_BROWSER_MODULES, "packages.cjs"));
const { chromium } = require("playwright-core");

const browser = await chromium.launch({ executablePath: process.env.HUB_BROWSER, args: ["--no-sandbox"] });
try {
	const page = await browser.newPage();
	await page.goto(process.argv[2], { timeout: 120_000 });
	await page.waitForSelector("article", { timeout: 120_000, state: "attached" });
	const shown = await page.$$eval("article", (all) => all.map((one) => [one.id, one.querySelector("pre.command").textContent]));
	console.log(JSON.stringify(Object.fromEntries(shown)));
} finally {
	await browser.close();
}
