import { expect, look, open, place, run, shows } from "./console.mjs";

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

await run(watches, keepsUp, fails);
