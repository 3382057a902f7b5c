// Opens the references of the hub and its products in a browser: each draws its document, asks
// its own origin alone, reports no error, links to the others and calls an operation. stdin:
// {"url": "http://127.0.0.1:…", "token": of an administrator, "references": {"/docs": {"title", "summary"}, …}}.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { counted, expect, failures, launch, visit } from "../../../hubtest/browser/check.mjs";

const require = createRequire(join(process.env.HUB_BROWSER_MODULES, "packages.cjs"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { url, token, references } = JSON.parse(readFileSync(0, "utf8"));
// What the library itself violates, see docs/README.md.
const ofTheLibrary = ["button-name", "color-contrast", "target-size"];

const browser = await launch();
try {
	for (const [path, { title, summary }] of Object.entries(references)) {
		const page = await visit(browser, { viewport: { width: 1280, height: 900 }, extraHTTPHeaders: {} });
		page.setDefaultTimeout(180_000);
		page.on("request", (request) => expect(request.url().startsWith(url) || /^(data|blob):/.test(request.url()), `${path} asks ${request.url()}`));
		await page.goto(url + path, { timeout: 180_000 });
		await page.getByRole("heading", { name: title, level: 1 }).waitFor();
		await page.getByText(summary).first().waitFor();
		const links = await page.locator("nav.references a").evaluateAll((all) => all.map((link) => new URL(link.href).pathname));
		expect(JSON.stringify(links.sort()) === JSON.stringify(Object.keys(references).sort()), `${path} links to ${links}`);
		expect(await page.locator("nav.references a[aria-current=page]").innerText() === title, `${path} is not marked in its links`);
		await page.evaluate(axe);
		const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] }));
		const own = found.violations.filter((violation) => !ofTheLibrary.includes(violation.id));
		expect(own.length === 0, `axe on ${path}: ${own.map((violation) => `${violation.id}: ${violation.nodes[0].target}`)}`);
		console.log(`axe on ${path}:`, found.violations.map((violation) => `${violation.id} ${violation.nodes.length}`).join(", ") || "nothing");
		if (path === "/docs") await tryOperation(page);
		await page.context().close();
	}
} finally {
	await browser.close();
}

// tryOperation sends the request of an operation from the page: without credentials it is
// refused, with an operator's token it works and the page shows the answer.
async function tryOperation(page) {
	await page.getByRole("link", { name: "Who is logged in" }).first().click();
	await page.getByRole("button", { name: /Test Request \(get \/api\/v1\/auth\/me\)/ }).click();
	const send = async () => {
		const answered = page.waitForResponse((response) => response.url() === `${url}/api/v1/auth/me`);
		await page.getByRole("button", { name: /^Send/ }).first().click();
		return answered;
	};
	const refused = await send();
	expect(refused.status() === 401, `an operation tried without credentials answered ${refused.status()}`);
	await page.getByPlaceholder("Token").fill(token);
	const answered = await send();
	expect(answered.status() === 200, `an operation tried with a token answered ${answered.status()}`);
	await page.getByText("200 OK").last().waitFor();
	expect((await answered.json()).role === "admin", "the answer is not the operator's");
}

console.log(`${counted()} checks`);
if (failures.length > 0) {
	console.error(failures.join("\n"));
	process.exit(1);
}
