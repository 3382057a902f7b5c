// Imports of patients: check with preview, confirm, undo.
import { openAccount } from "./accounts.mjs";
import { states } from "./accountstates.mjs";
import { expect, look, place, run, shows } from "./console.mjs";

const base = `${place.url}/account/clinic/imports`;
const dialog = (page) => page.getByRole("dialog");

// fact waits until a name has a value.
async function fact(page, name, value) {
	const found = await page.locator("dl > div").filter({ has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).filter({ has: page.locator("dd", { hasText: new RegExp(`^${value}$`) }) }).waitFor({ timeout: 30000 }).then(() => true, () => false);
	expect(found, `${name} is ${value}: ${found ? "" : await page.locator("main").innerText()}`);
}

async function imports(browser) {
	const page = await openAccount(browser, "/imports");
	await shows(page, "Nothing was imported yet");
	await look(page, "account-imports-empty");
	await page.getByRole("link", { name: "Import patients" }).last().click();
	await page.waitForURL(`${base}/new`);
	await look(page, "account-imports-new");
	await page.getByLabel("File").setInputFiles(place.patients);
	await page.getByLabel("Source").fill("Old program");
	await page.getByRole("button", { name: "Check the file" }).click();
	await page.waitForURL(/imports\/[0-9a-f-]{36}$/);
	const check = page.url();
	await shows(page, "Check of patients.csv");
	await shows(page, "4 of 4 rows checked. Nothing was changed.");
	await fact(page, "Would be created", 2);
	await fact(page, "Would be changed", 1);
	await fact(page, "Would be refused", 1);
	await shows(page, "favourite colour");
	await shows(page, "ignored");
	await shows(page, "***.***.***-25");
	expect(!(await page.content()).includes("982.247"), "the CPF stays masked");
	await shows(page, "Refused rows");
	await shows(page, "Warnings");
	await look(page, "account-imports-check");
	await page.getByRole("button", { name: "Import these patients" }).click();
	await shows(page, "2 would be created, 1 changed and 1 refused", "[role=dialog]");
	await look(page, "account-imports-confirm");
	await dialog(page).getByRole("button", { name: "Import these patients" }).click();
	await page.waitForURL((address) => address.href !== check && /imports\/[0-9a-f-]{36}$/.test(address.href));
	await shows(page, "Import of 4 rows");
	await shows(page, "4 of 4 rows imported");
	await fact(page, "Created", 2);
	await fact(page, "Changed", 1);
	await fact(page, "Refused", 1);
	await look(page, "account-imports-done");
	const made = page.url();
	await page.getByRole("link", { name: "Imports", exact: true }).first().click();
	await shows(page, "Old program", "[role=table]");
	await look(page, "account-imports");
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForURL(made);
	await page.getByRole("button", { name: "Undo the import" }).click();
	await look(page, "account-imports-undo");
	await dialog(page).getByRole("button", { name: "Undo the import" }).click();
	await shows(page, "3 patients as before, 0 kept as they are");
	expect((await page.getByRole("button", { name: "Undo the import" }).count()) === 0, "it is undone once");
	await look(page, "account-imports-undone");
	// A check whose file is not at hand any more is not imported unseen.
	await page.goto(check);
	await shows(page, "Check of Table (CSV)");
	expect((await page.getByRole("button", { name: "Import these patients" }).count()) === 0, "there is no file to import");
	await page.getByRole("link", { name: "Choose a file" }).click();
	await page.waitForURL(`${base}/new`);
	await page.goto(`${base}/019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11`);
	await shows(page, "There is no import 019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11.");
	await states(page, base, "**/clinic/api/v1/imports?*", "account-imports", "Nothing was imported yet");
}

// A file of 20 MB is refused in words, and its contents never come into the page's memory.
async function large(browser) {
	const page = await openAccount(browser, "/imports/new");
	await page.evaluate(() => {
		window.filesRead = 0;
		for (const name of ["text", "arrayBuffer", "stream", "bytes", "slice"]) {
			const read = Blob.prototype[name];
			if (read) Blob.prototype[name] = function (...args) { window.filesRead++; return read.apply(this, args); };
		}
		const { readAsArrayBuffer, readAsText } = FileReader.prototype;
		Object.assign(FileReader.prototype, {
			readAsArrayBuffer(...args) { window.filesRead++; return readAsArrayBuffer.apply(this, args); },
			readAsText(...args) { window.filesRead++; return readAsText.apply(this, args); },
		});
	});
	const session = await page.context().newCDPSession(page);
	const memory = async () => {
		await session.send("HeapProfiler.collectGarbage");
		const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
		return (usedSize + backingStorageSize) / 2 ** 20;
	};
	const before = await memory();
	await page.getByLabel("File").setInputFiles(place.large);
	await page.getByRole("button", { name: "Check the file" }).click();
	await page.locator("[role=alert]").getByText(/16 MiB|too large|16777216|at most/).first().waitFor();
	const grown = (await memory()) - before;
	console.log(`a file of 20 MB: ${grown.toFixed(1)} MiB more; ${await page.locator("[role=alert]").allInnerTexts()}`);
	expect(grown < 8, `the page grew by ${grown} MiB`);
	expect((await page.evaluate(() => window.filesRead)) === 0, "no script reads the file");
	await look(page, "account-imports-refused");
}

await run(imports, large);
