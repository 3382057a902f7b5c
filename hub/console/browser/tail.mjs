import { api, expect, look, open, place, run, shows } from "./console.mjs";

const rows = (page) => page.locator("[data-row-link]");

async function publish(type, count) {
	const answer = await fetch(`${place.url}/api/v1/events/batch`, {
		method: "POST",
		headers: { "Content-Type": "application/json", "X-Integration-Key": place.key },
		body: JSON.stringify({ events: Array.from({ length: count }, (_, n) => ({ event_type: type, data: { n } })) }),
	});
	if (answer.status !== 202) throw new Error(`publishing: ${answer.status} ${await answer.text()}`);
}

// New rows come by themselves; while the pointer is on the list they wait, and nothing moves.
async function watches(browser) {
	const page = await open(browser, "/deliveries");
	await rows(page).first().waitFor();
	await page.mouse.move(5, 5);
	await page.getByRole("switch", { name: "Live" }).click();
	await page.waitForURL(/live=1/);
	await page.locator("[data-tail=open]").waitFor();
	await page.mouse.move(5, 5);
	await publish("order.live", 1);
	await page.locator("[data-row-link]", { hasText: "order.live" }).waitFor();
	await look(page, "deliveries-live");
	const box = await page.locator("[role=row]").nth(4).boundingBox();
	await page.mouse.move(box.x + 40, box.y + 8);
	const place4 = () => page.locator("[role=row]").nth(4).locator("a").getAttribute("href");
	const before = await place4();
	await publish("order.held", 3);
	await page.getByRole("button", { name: "3 new: show" }).waitFor();
	expect(await place4() === before, "the row under the pointer stays");
	expect(await page.getByText("order.held").count() === 0, "new rows wait");
	await look(page, "deliveries-held");
	await page.getByRole("button", { name: "3 new: show" }).click();
	await page.locator("[data-row-link]", { hasText: "order.held" }).first().waitFor();
}

// 200 deliveries a second: 50 frames a second, or it says what it drops.
async function keepsUp(browser) {
	const page = await open(browser, "/deliveries?live=1");
	await page.locator("[data-tail=open]").waitFor();
	await page.mouse.move(5, 5);
	await page.evaluate(() => {
		window.frames_ = [];
		const frame = (now) => { window.frames_.push(now); requestAnimationFrame(frame); };
		requestAnimationFrame(frame);
	});
	const began = Date.now();
	for (let sent = 0; sent < 1200; sent += 20) {
		await publish("order.flood", 20);
		const wait = began + ((sent + 20) / 200) * 1000 - Date.now();
		if (wait > 0) await page.waitForTimeout(wait);
	}
	const rate = 1200 / ((Date.now() - began) / 1000);
	const frames = await page.evaluate(() => (1000 * (window.frames_.length - 1)) / (window.frames_.at(-1) - window.frames_[0]));
	const said = await page.locator("[data-tail]").innerText();
	console.log(`live tail: ${rate.toFixed(0)} deliveries/s, ${frames.toFixed(1)} frames/s; ${said.replaceAll("\n", " ")}`);
	expect(frames >= 50 || /fewer than 50 frames|were dropped/.test(said), `${frames} frames a second, and it says: ${said}`);
	await shows(page, /\d+ more came and were dropped/); // 1200 came, 500 are kept
	const drawn = await rows(page).count();
	expect(drawn > 5 && drawn < 60, `${drawn} rows are drawn`);
	const scroller = page.locator("[role=table]").locator("..");
	await scroller.evaluate((element) => { element.scrollTop = 4000; });
	const top = () => scroller.evaluate((element) => element.scrollTop);
	const twelfth = () => page.locator("[role=row]").nth(12).locator("a").getAttribute("href");
	await page.waitForTimeout(300); // the rows there are drawn
	const seen = await twelfth();
	await publish("order.flood", 20);
	await page.getByRole("button", { name: /new: show/ }).waitFor();
	const [at, now] = [await top(), await twelfth()];
	expect(at === 4000 && now === seen, `a scrolled list does not shift: ${at}, ${now} instead of ${seen}`);
}

async function fails(browser) {
	const page = await open(browser, "/deliveries");
	await page.route("**/api/v1/events/stream?*", (route) => route.abort());
	await page.goto(`${place.url}/deliveries?live=1`);
	await page.locator("[data-tail=lost]").waitFor();
	await look(page, "deliveries-live-lost");
}

// A hidden tab draws no frames: what comes is taken all the same.
async function hides(browser) {
	const page = await open(browser, "/deliveries");
	await page.addInitScript(() => {
		window.requestAnimationFrame = () => 0;
		Object.defineProperty(document, "hidden", { get: () => true });
	});
	await page.goto(`${place.url}/deliveries?live=1`);
	await page.locator("[data-tail=open]").waitFor();
	await page.mouse.move(5, 5);
	await publish("order.hidden", 1);
	await page.locator("[data-row-link]", { hasText: "order.hidden" }).waitFor();
}

// A stream that was refused is opened again, and what came meanwhile is read; the end of the
// session leads to the login.
async function reopens(browser) {
	const page = await open(browser, "/deliveries");
	await page.route("**/api/v1/events/stream?*", (route) => route.fulfill({ status: 502, body: "" }));
	await page.goto(`${place.url}/deliveries?live=1`);
	await page.locator("[data-tail=lost]").waitFor();
	await publish("order.missed", 1);
	await page.unroute("**/api/v1/events/stream?*");
	await page.locator("[data-tail=open]").waitFor();
	await page.locator("[data-row-link]", { hasText: "order.missed" }).waitFor();
	await page.getByRole("switch", { name: "Live" }).click();
	await page.locator("[data-tail]").waitFor({ state: "detached" });
	await page.context().clearCookies();
	await page.getByRole("switch", { name: "Live" }).click();
	await shows(page, "Your session has ended");
}

// A page that is read while a row changes does not bring back what the row was.
async function keepsChanges(browser) {
	await publish("order.more", 120);
	while ((await api("GET", "/deliveries?event_type=order.more&status=delivered&limit=120")).items.length < 120);
	const page = await open(browser, "/deliveries");
	await page.addInitScript(() => {
		const Source = window.EventSource;
		window.came_ = [];
		window.EventSource = class extends Source {
			constructor(address) {
				super(address);
				this.addEventListener("delivery", ({ data }) => window.came_.push(data));
			}
		};
	});
	await page.goto(`${place.url}/deliveries?live=1`);
	await page.locator("[data-tail=open]").waitFor();
	await page.mouse.move(5, 5);
	const row = page.locator("[role=row]").nth(3);
	await page.locator("[data-row-link]", { hasText: "order.more" }).first().waitFor();
	const id = (await row.locator("a").getAttribute("href")).match(/[0-9a-f-]{36}/)[0];
	const attempts = async () => (await api("GET", `/deliveries/${id}`)).attempt_count;
	const before = await attempts();
	let answer;
	await page.route("**/api/v1/deliveries?*cursor=*", (route) => new Promise((go) => { answer = () => go(route.continue()); }));
	const asked = page.waitForRequest(/deliveries\?.*cursor=/);
	const scroller = page.locator("[role=table]").locator("..");
	await scroller.evaluate((element) => { element.scrollTop = element.scrollHeight; });
	await asked;
	await scroller.evaluate((element) => { element.scrollTop = 0; });
	await api("POST", `/deliveries/${id}/retry`);
	await page.waitForFunction(([id, count]) => window.came_.map((text) => JSON.parse(text)).some((row) => row.id === id && row.attempt_count === count && row.status === "delivered"), [id, before + 1]);
	await page.waitForTimeout(1500); // the change was taken, where it is not held
	answer();
	await page.waitForFunction(() => ![...document.querySelectorAll("[role=status]")].some((element) => element.innerText.startsWith("100+")));
	const changed = page.waitForFunction(([id, count]) => document.querySelector(`a[href*="${id}"]`)?.closest("[role=row]").innerText.includes(`${count} · 200`), [id, before + 1], { timeout: 10000 });
	expect(await changed.then(() => true, () => false), "the row shows its last attempt");
}

await run(watches, hides, reopens, keepsChanges, keepsUp, fails);
