// Looks at every page of a booking whose texts are words without an end. What is where comes on
// stdin as JSON.
import { readFileSync } from "node:fs";
import { check, counted, expect, failures, launch, visit } from "../../../hub/hubtest/browser/check.mjs";

const place = JSON.parse(readFileSync(0, "utf8"));
const browser = await launch();
try {
	const page = await visit(browser);
	for (const [name, path, text] of place.pages) {
		const response = await page.goto(place.url + path);
		expect(response.status() < 500, `${name} is there`);
		expect((await page.content()).includes(text), `${name} has the text`);
		for (const details of await page.locator("details").all()) await details.evaluate((element) => { element.open = true; });
		await check(page, name);
	}
} catch (error) {
	failures.push(String(error.stack || error));
} finally {
	await browser.close();
}
console.log(`${counted()} checks, ${failures.length} failures`);
for (const failure of failures) console.log("- " + failure);
process.exit(failures.length ? 1 : 0);
