// Books in a real browser: with and without JavaScript, on a phone and a desktop, with
// the keyboard alone, and through every state. What is where comes on stdin as JSON.
import { readFileSync } from "node:fs";
import { check, counted, expect, failures, launch, tabTo, visit } from "../../../hub/hubtest/browser/check.mjs";

const place = JSON.parse(readFileSync(0, "utf8"));
const at = (slug, step = "", query = {}) => `${place.url}/book/${slug}${step && "/" + step}?${new URLSearchParams(query)}`;
const heading = (page) => page.locator("h1").innerText();
const submit = (page) => Promise.all([page.waitForNavigation(), page.locator("button[type=submit]").click()]);

async function fill(page, name) {
	await page.fill("#name", name);
	await page.fill("#phone", "(11) 98765-4321");
	await page.fill("#email", "carla@example.com");
}

// toDetails goes from the first page to the form as people do: by pointing.
async function toDetails(page, look = async () => {}) {
	await page.goto(at(place.slug));
	await look("service");
	await page.getByRole("link", { name: "Corte de cabelo" }).click();
	await look("professional");
	await page.getByRole("link", { name: "Ana Souza" }).click();
	await look("day");
	await page.getByRole("link", { name: "Próximo mês" }).click();
	await page.locator("a.date").first().click();
	await look("time");
	await page.locator("a.slot").first().click();
	await look("details");
}

async function booksAndChanges(browser) {
	const page = await visit(browser);
	const look = (name) => check(page, name);
	await toDetails(page, look);
	expect(!(await page.locator(".local").count()), "no second time where the clocks agree");
	await page.goto(at(place.slug, "time", { service: place.group, professional: place.bruno, date: place.date }));
	await look("time-group");
	await toDetails(page);
	await submit(page);
	await look("details-wrong");
	expect(await page.evaluate(() => document.activeElement.getAttribute("role")) === "alert", "the errors have the focus");
	await fill(page, "Carla Dias");
	await page.fill("#notes", "Franja curta");
	await page.locator("button[type=submit]").dblclick();
	await page.waitForURL(/\/done\?/);
	await look("done");
	expect(await heading(page) === "Agendamento recebido", "it is booked");
	const done = page.url();
	await page.reload();
	expect(page.url() === done, "a reload shows it again");
	await page.getByRole("link", { name: "Cancelar ou remarcar" }).click();
	await look("cancel");
	await page.getByRole("link", { name: "Remarcar" }).click();
	await look("move-day");
	await page.locator("a.date").last().click();
	await look("move-time");
	await page.locator("a.slot").last().click();
	await look("move");
	await submit(page);
	expect(page.url() === done, "it is moved");
	await page.getByRole("link", { name: "Cancelar ou remarcar" }).click();
	await submit(page);
	await look("cancelled");
	expect(await heading(page) === "Este agendamento foi cancelado", "it is cancelled");
	await page.context().close();
}

// Without JavaScript there is no axe to run; the pages are the same ones.
async function booksWithout(browser, viewport) {
	const page = await visit(browser, { javaScriptEnabled: false, viewport, locale: "en-US", timezoneId: "Europe/Lisbon" });
	await page.goto(at(place.slug));
	for (const next of ["Corte de cabelo", "Anyone available", "Next month"]) await page.getByRole("link", { name: next }).click();
	await page.locator("a.date").nth(1).click();
	await page.locator("a.slot").nth(viewport.width > 800 ? 3 : 5).click();
	await submit(page);
	expect((await page.locator("#phone-error").innerText()).includes("phone number"), "errors beside their fields, without JavaScript");
	await fill(page, "Davi Reis");
	await submit(page);
	expect(await heading(page) === "Booking received", `booked without JavaScript at ${viewport.width}`);
	await page.getByRole("link", { name: "Cancel or move" }).click();
	await submit(page);
	expect(await heading(page) === "This booking is cancelled", `cancelled without JavaScript at ${viewport.width}`);
	expect(!(await page.locator(".local").count()), "no script ran");
	await page.context().close();
}

const booksWithoutOnAPhone = (browser) => booksWithout(browser, { width: 360, height: 740 });
const booksWithoutOnADesktop = (browser) => booksWithout(browser, { width: 1280, height: 900 });

async function booksByKeyboard(browser) {
	const page = await visit(browser, { timezoneId: "Europe/Lisbon" });
	await page.goto(at(place.slug));
	await page.keyboard.press("Tab");
	expect(await page.evaluate(() => document.activeElement.matches(".skip") && document.activeElement.getBoundingClientRect().top >= 0), "the first stop leads past the header");
	await page.keyboard.press("Enter");
	const press = async (name, fits) => {
		await tabTo(page, name, fits);
		await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
	};
	await press("a service", "at.matches('a.card')");
	await press("a professional", "at.matches('a.card') && at.textContent.includes('Bruno')");
	await press("the next month", "at.matches('a.arrow') && at.ariaLabel === 'Próximo mês'");
	await press("a day", "at.matches('a.date')");
	expect((await page.locator(".slot .local").first().innerText()).startsWith("11:00"), "the visitor's own time stands beside");
	expect((await page.locator("[data-own-zone]").innerText()).includes("Lisbon"), "and it names its zone");
	await check(page, "time-elsewhere");
	await press("a time", "at.matches('a.slot')");
	for (const [id, text] of [["name", "Eva Melo"], ["phone", "11 91234-5678"]]) {
		await tabTo(page, id, `at.id === '${id}'`);
		await page.keyboard.type(text);
	}
	await press("the button", "at.matches('button[type=submit]')");
	expect(await heading(page) === "Agendamento recebido", "booked with the keyboard");
	expect((await page.locator(".lines .local").innerText()).includes("11:00 no seu fuso"), "in the visitor's zone");
	await press("the way to cancel", "at.textContent === 'Cancelar ou remarcar'");
	await press("the button that cancels", "at.matches('button.danger')");
	expect(await heading(page) === "Este agendamento foi cancelado", "cancelled with the keyboard");
	await page.context().close();
}

async function paysDeposit(browser) {
	const page = await visit(browser, { viewport: { width: 360, height: 740 } });
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: place.url });
	await page.clock.install({ time: new Date(place.now) });
	await page.goto(at(place.slug, "details", { service: place.deposit, professional: place.ana, start: place.depositStart }));
	await fill(page, "Gil Prado");
	await submit(page);
	await check(page, "done-deposit");
	const code = await page.locator("#pix").inputValue();
	await page.getByRole("button", { name: "Copiar código" }).click();
	await page.getByRole("button", { name: "Copiado" }).waitFor();
	expect(await page.evaluate(() => navigator.clipboard.readText()) === code, "the code is in the clipboard");
	expect(/^Faltam (29|30):\d\d para pagar$/.test(await page.locator("[data-left]").innerText()), "the time that is left");
	const picture = await page.locator("img.qr").evaluate((image) => image.complete && image.naturalWidth);
	expect(picture > 100, "the QR code is drawn");
	await tabTo(page, "the sandbox's button", "at.matches('.sandbox button')");
	await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
	await page.clock.fastForward(8500);
	await page.locator(".note").first().waitFor();
	expect((await page.locator(".note").first().innerText()).includes("Sinal pago"), "the page notices the payment by itself");
	await check(page, "done-paid");
	await page.getByRole("link", { name: "Cancelar ou remarcar" }).click();
	await check(page, "cancel-refund");
	await page.context().close();
}

// A full day leads to the next free time, with the keyboard alone.
async function takesTheNextFreeTime(browser) {
	const page = await visit(browser, { timezoneId: "Europe/Lisbon" });
	await page.goto(at(place.slug, "time", { service: place.service, professional: place.ana, date: "2026-04-01" }));
	const offered = (await page.locator(".nothing").innerText()).replace(/\s+/g, " ");
	expect(offered.includes("Sexta-feira, 1 de maio de 2026, 08:00 São Paulo (GMT−3) 12:00 no seu fuso (GMT+1)"), `the next time with both zones: ${offered}`);
	await tabTo(page, "the next free time", "at.matches('.nothing .primary')");
	await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
	expect(await page.inputValue("[name=start]") === "2026-05-01T08:00:00-03:00", "the form is for that time");
	await tabTo(page, "the consent", "at.type === 'checkbox'");
	await page.keyboard.press("Space");
	expect(await page.locator("input[type=checkbox]").isChecked(), "the box is checked with the keyboard");
	await tabTo(page, "the phone", "at.matches('aside.contact a')");
	await check(page, "details-next-free");
	await page.context().close();
}

async function somebodyWasFaster(browser) {
	const [slow, fast] = [await visit(browser), await visit(browser)];
	for (const page of [slow, fast]) {
		await page.goto(at(place.slug, "details", { service: place.service, professional: place.bruno, start: place.contested }));
		await fill(page, page === slow ? "Lia Costa" : "Rui Paz");
	}
	await submit(fast);
	await submit(slow);
	expect(await heading(slow) === "Alguém foi mais rápido", "the time is taken");
	expect(await slow.inputValue("#name") === "Lia Costa", "what was typed is kept");
	await check(slow, "taken");
	await slow.locator("input[type=radio]").first().focus();
	await slow.keyboard.press("ArrowDown");
	await submit(slow);
	expect(await heading(slow) === "Agendamento recebido", "another time is booked");
	await Promise.all([slow.context().close(), fast.context().close()]);
}

// The machine does its work while the form is filled in, or when the button was pressed.
async function worksForIt(browser) {
	const page = await visit(browser);
	await page.goto(place.url + place.careful);
	await fill(page, "Ivo Prado");
	await page.locator("button[type=submit]").click();
	await page.waitForURL(/\/done\?/);
	expect(await heading(page) === "Agendamento recebido", "booked with the work done");
	await page.context().close();
	const without = await visit(browser, { javaScriptEnabled: false });
	await without.goto(place.url + place.careful);
	expect((await without.locator("noscript .alert").innerText()).includes("JavaScript"), "it says what is missing without JavaScript");
	await without.context().close();
}

async function states(browser) {
	const page = await visit(browser);
	for (const [name, url, status] of place.states) {
		const answer = await page.goto(place.url + url);
		expect(answer.status() === status, `${name}: ${answer.status()}`);
		await check(page, name);
	}
	await page.context().close();
}

async function asksTooMuch(browser) {
	const page = await visit(browser);
	let status = 0;
	for (let rounds = 0; status !== 429 && rounds < 60; rounds++) { // the limit is 300 in a minute
		await Promise.all(Array.from({ length: 60 }, () => page.request.get(at("nobody-here"))));
		status = (await page.goto(at(place.slug))).status();
	}
	expect(status === 429, "too many requests");
	await check(page, "limited");
	await page.context().close();
}

const browser = await launch();
try {
	await Promise.all([
		[booksAndChanges, asksTooMuch],
		[booksWithoutOnAPhone, booksWithoutOnADesktop, booksByKeyboard, somebodyWasFaster],
		[paysDeposit, takesTheNextFreeTime, worksForIt, states],
	].map(async (visits) => {
		for (const one of visits) {
			await one(browser).catch((error) => failures.push(`${one.name}: ${error.stack || error}`));
		}
	}));
} finally {
	await browser.close();
}
console.log(`${counted()} checks, ${failures.length} failures`);
for (const failure of failures) console.log("- " + failure);
process.exit(failures.length ? 1 : 0);
