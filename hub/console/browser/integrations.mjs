import { expect, look, open, place, run, shows } from "./console.mjs";

async function lists(browser) {
	const page = await open(browser, "/integrations");
	await shows(page, "Pine Clinic");
	await shows(page, "Oak Studio");
	expect(await page.locator("[data-row-link]").count() === 2, "both sides are listed");
	await look(page, "integrations");
	await page.fill("input[name=token]", "product:notes");
	await page.keyboard.press("Enter");
	await page.waitForURL(/product=notes/);
	await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length === 1);
	await page.goto(`${place.url}/integrations?status=error`);
	await shows(page, "Nothing matches these filters");
	await look(page, "integrations-nothing");
	await page.getByRole("button", { name: "Clear filters" }).click();
	await page.locator("[data-row-link]").first().waitFor();
	await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/integrations\/[0-9a-f-]{36}$/);
	await page.goto(`${place.url}/integrations?environment=test`);
	await shows(page, "No integrations yet");
	await look(page, "integrations-empty");
	await page.route("**/api/v1/integrations?*", (route) => route.abort());
	await page.goto(`${place.url}/integrations`);
	await shows(page, "This could not be loaded");
	await look(page, "integrations-error");
}

async function acts(browser) {
	const page = await open(browser, `/integrations/${place.integration}`);
	await shows(page, "Pine Clinic → board", "h1");
	await look(page, "integration");
	await page.getByRole("button", { name: "Test", exact: true }).click();
	await shows(page, "The peer responds (version 1.2.3)");
	// Its events keep their order, until that is switched off.
	const order = async (ordered) => {
		await page.getByRole("button", { name: "Order", exact: true }).click();
		const box = page.getByRole("dialog").getByRole("checkbox", { name: "Ordered", description: /ordering key are sent one at a time/ });
		expect((await box.isChecked()) !== ordered, "the form shows how it is");
		await look(page, `integration-order-${ordered}`);
		await box.setChecked(ordered);
		await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
		await page.getByRole("dialog").waitFor({ state: "hidden" });
	};
	await shows(page, "One key at a time, in the order of acceptance", "dl");
	await order(false);
	await shows(page, "none: all at once", "dl");
	await order(true);
	await shows(page, "One key at a time, in the order of acceptance", "dl");
	await page.getByRole("button", { name: "Rotate secret" }).click();
	await shows(page, "Until the overlap ends", "[role=dialog]");
	await look(page, "integration-rotate");
	await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
	await shows(page, "It is shown now and never again", "[role=dialog]");
	expect((await page.locator("[role=dialog] .mono").innerText()).length > 20, "the new secret is shown");
	await look(page, "integration-secret");
	await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
	await shows(page, "Previous secret accepted until");
	await page.getByRole("button", { name: "Disable" }).click();
	await shows(page, "It is stopped until it is enabled.");
	await page.getByRole("button", { name: "Enable" }).click();
	await shows(page, "It is in use again.");
	await page.getByRole("button", { name: "Revoke" }).click();
	const confirm = page.getByRole("dialog").getByRole("button", { name: "Revoke" });
	await page.getByRole("dialog").getByLabel("Name").fill("Pine");
	expect(await confirm.isDisabled(), "a wrong name revokes nothing");
	await look(page, "integration-revoke");
	await page.getByRole("dialog").getByLabel("Name").fill("Pine Clinic");
	await confirm.click();
	await page.getByRole("dialog").waitFor({ state: "hidden" });
	await shows(page, "Revoked");
	await page.getByRole("button", { name: "Revoke" }).waitFor({ state: "hidden" });
}

async function fails(browser) {
	const id = "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11";
	const page = await open(browser, `/integrations/${place.integration}`);
	await page.goto(`${place.url}/integrations/${id}`);
	await shows(page, `There is no integration ${id}.`);
	await look(page, "integration-missing");
	await page.route("**/api/v1/integrations/*", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden","detail":"No."}' }));
	await page.reload();
	await shows(page, "Not allowed");
	await page.unroute("**/api/v1/integrations/*");
	await page.route("**/api/v1/integrations/*", (route) => route.abort());
	await page.reload();
	await shows(page, "The hub does not respond.");
	await page.unroute("**/api/v1/integrations/*");
	// Support reads, and sees why there are no buttons.
	place.email = place.support;
	const other = await open(browser, `/integrations/${place.integration}`);
	await shows(other, "Administrators can test");
	expect(await other.getByRole("button", { name: /Revoke|Order/ }).count() === 0, "support has no buttons");
	await other.goto(`${place.url}/connect`);
	await shows(other, "Not allowed");
	await look(other, "connect-forbidden");
}

// One after the other: the last step changes who logs in.
await run(lists, fails, (browser) => { place.email = "ana@example.com"; return acts(browser); });
