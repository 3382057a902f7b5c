import { visit } from "../../hubtest/browser/check.mjs";
import { expect, logIn, look, open, place, run, shows, tryAgain } from "./console.mjs";

const rows = (page) => page.locator("[data-row-link]");

async function logsIn(browser) {
	const page = await visit(browser, { locale: "en-US" });
	await page.goto(`${place.url}/deliveries?type=none.such&bogus=1`);
	await shows(page, "Password");
	await look(page, "login");
	await logIn(page, "wrong password");
	await shows(page, "E-mail address or password is wrong.");
	await look(page, "login-wrong");
	await logIn(page);
	await shows(page, "Nothing matches these filters");
	await page.waitForURL(`${place.url}/deliveries?type=none.such`); // what no filter is, is dropped
	await look(page, "deliveries-nothing");
	await page.goto(`${place.url}/deliveries?status=nope&tenant=zzz&type=order.refused`);
	await shows(page, "These filters of the address are not valid and were ignored: status:nope, tenant:zzz", "[role=alert]");
	expect(await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length === 1), "the valid filter holds");
	await look(page, "deliveries-ignored");
	await page.getByRole("button", { name: "Remove the filter type:order.refused" }).click();
	await page.waitForURL(`${place.url}/deliveries`);
	expect((await page.locator("[role=alert]").allInnerTexts()).join("") === "", "what was ignored is said once");
	await page.goto(`${place.url}/deliveries?type=none.such`);
	await page.getByRole("button", { name: "Clear filters" }).click();
	await rows(page).first().waitFor();
	expect(page.url() === `${place.url}/deliveries`, "defaults are not in the address");
	const cookies = await page.evaluate(() => document.cookie);
	expect(cookies === "", "scripts see no cookie");
}

async function lists(browser) {
	const page = await open(browser, "/deliveries");
	await rows(page).first().waitFor();
	// The budget: what the browser loads to show the first screen.
	const scripts = [];
	page.on("response", (response) => response.url().endsWith(".js") && scripts.push(response));
	await page.reload();
	await rows(page).first().waitFor();
	let bytes = 0;
	for (const script of scripts) bytes += Number(await script.headerValue("content-length"));
	console.log(`first screen: ${bytes} bytes of JavaScript, compressed`);
	expect(scripts.length > 3 && bytes > 50_000 && bytes <= 200_000, `the first screen loads ${bytes} bytes of JavaScript`);
	await shows(page, "Corner Bakery");
	await look(page, "deliveries");
	// Every row is reached, and few of them are in the document.
	const scroller = page.locator("[role=table]").locator("..");
	for (let i = 0; i < 80 && !(await page.locator('[aria-rowindex="252"]').count()); i++) {
		await scroller.evaluate((element) => { element.scrollTop += 600; });
		await page.waitForTimeout(50);
	}
	expect(await page.locator('[aria-rowindex="252"]').count() === 1, "the last of 251 rows is reached");
	expect(await rows(page).count() < 60, "only visible rows are drawn");
	// Keyboard: j, k, Enter.
	await page.reload();
	await rows(page).first().waitFor();
	for (const key of ["j", "j", "k", "j"]) await page.keyboard.press(key);
	await page.waitForFunction(() => document.activeElement?.closest("[role=row]")?.getAttribute("aria-rowindex") === "3");
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
	await page.goBack();
	// Tokens.
	await page.fill("input[name=token]", "bogus:1");
	await page.keyboard.press("Enter");
	await shows(page, "is not a filter");
	await page.fill("input[name=token]", "type:order.refused");
	await page.keyboard.press("Enter");
	await page.waitForURL(/type=order\.refused/);
	await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length === 1);
	await look(page, "deliveries-filtered");
	await page.getByRole("button", { name: "Remove the filter type:order.refused" }).click();
	await page.waitForURL(`${place.url}/deliveries`);
	await page.fill("input[name=token]", "status:bogus type:order.refused");
	await page.keyboard.press("Enter");
	await shows(page, "“status:bogus” is not a filter");
	await page.fill("input[name=token]", "type:order.refused product:shop");
	await page.keyboard.press("Enter");
	await page.waitForURL(/type=order\.refused&product=shop|product=shop&type=order\.refused/);
	await page.getByRole("button", { name: "Remove the filter type:order.refused" }).click();
	await page.getByRole("button", { name: "Remove the filter product:shop" }).click();
	await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length > 5);
	// A person's number leads to the lookup, and into no address.
	const addresses = [];
	page.on("request", (request) => addresses.push(request.url()));
	await page.fill("input[name=token]", "phone:+55 11 98765-4321");
	await page.keyboard.press("Enter");
	await page.waitForURL(`${place.url}/lookup`);
	await shows(page, "Found for +*********4321");
	expect(addresses.length > 0 && !addresses.some((address) => /9?8765.?4321/.test(address)), `the number is in no address: ${addresses}`);
	await page.goto(`${place.url}/deliveries`);
	await rows(page).first().waitFor();
	// The search in the header, by its key.
	await page.keyboard.press("/");
	await page.keyboard.type("order-77");
	await page.keyboard.press("Enter");
	await page.waitForURL(/q=order-77/);
	await page.waitForFunction(() => document.querySelectorAll("[data-row-link]").length === 1);
}

async function fails(browser) {
	const page = await open(browser, "/deliveries");
	await rows(page).first().waitFor();
	await page.getByText("Test", { exact: true }).click();
	await page.waitForURL(/environment=test/);
	await shows(page, "No deliveries yet");
	await look(page, "deliveries-empty");
	await page.route("**/api/v1/deliveries?*", (route) => route.abort());
	await page.goto(`${place.url}/deliveries`);
	await shows(page, "This could not be loaded");
	await look(page, "deliveries-error");
	await page.unroute("**/api/v1/deliveries?*");
	await tryAgain(page);
	await rows(page).first().waitFor();
	let answer;
	await page.route("**/api/v1/deliveries?*", (route) => new Promise((go) => { answer = () => go(route.continue()); }));
	await page.goto(`${place.url}/deliveries?status=delivered`);
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "deliveries-loading");
	answer();
	await rows(page).first().waitFor();
	await page.unroute("**/api/v1/deliveries?*");
	await page.goto(`${place.url}/nothing-here`);
	await shows(page, "There is no page at this address.");
	await look(page, "not-found");
}

async function shell(browser) {
	const page = await open(browser, "/deliveries");
	await rows(page).first().waitFor();
	await page.keyboard.press("?");
	await shows(page, "Next row, previous row");
	await look(page, "help");
	await page.keyboard.press("Escape");
	await page.getByText("Next row, previous row").waitFor({ state: "hidden" });
	await page.getByRole("button", { name: /^Account/ }).click();
	await shows(page, "Administrator");
	await page.waitForFunction(() => document.activeElement?.closest("[role=dialog]"), undefined, { timeout: 5000 });
	await look(page, "account");
	await page.getByRole("switch", { name: "Single-letter shortcuts" }).click();
	await page.getByLabel("Language").selectOption("pt-BR");
	await shows(page, "Sair");
	await page.getByLabel("Tema").selectOption("dark");
	await page.keyboard.press("Escape");
	await shows(page, "Entregas", "h1");
	expect(await page.evaluate(() => document.documentElement.lang) === "pt-BR", "the document says its language");
	expect(await page.evaluate(() => document.documentElement.dataset.mantineColorScheme) === "dark", "the theme is dark");
	await page.locator("h1").click();
	await page.keyboard.press("?");
	expect(await page.getByRole("dialog").count() === 0, "letters are off");
	await page.reload();
	await shows(page, "Corner Bakery"); // later answers of 401 would end the session before the click
	await page.context().clearCookies();
	await page.getByRole("button", { name: "Atualizar" }).click();
	await shows(page, "Sua sessão terminou");
	await logIn(page);
	await shows(page, "Entregas", "h1");
	await page.getByRole("button", { name: /^Conta/ }).click();
	await page.getByText("Sair").click();
	await shows(page, "Primeiro acesso aqui?");
}

await run(logsIn, lists, fails, shell);
