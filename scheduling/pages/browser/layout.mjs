// Measures and photographs the booking pages at the widths of a phone and a desktop. Which
// pages and where the files go comes on stdin as JSON.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { counted, expect, failures, launch, visit } from "../../../hub/hubtest/browser/check.mjs";

const place = JSON.parse(readFileSync(0, "utf8"));

// Elements whose position and size matter.
const measured = "header, main, aside, footer, h1, h2, h3, p, li, dt, dd, a, span.date, button, input, textarea, label, summary, fieldset, img, time, .badge, .dot, .face, .monogram, .alert, .note, .pay, .in-zone, .local";

// measure returns what an element is with its box: x, y, width and height in whole pixels.
function measure(selector) {
	const boxes = [];
	for (const element of document.querySelectorAll(selector)) {
		const box = element.getBoundingClientRect();
		if (!box.width || !box.height || element.closest(".unseen, .skip, .trap, details:not([open]) > :not(summary)") || element.closest(".progress li > span")) continue;
		const name = element.localName + (element.id && "#" + element.id) + [...element.classList].map((one) => "." + one).join("");
		const text = element.textContent.replace(/\s+/g, " ").trim().slice(0, 24);
		boxes.push([`${name} ${text}`.trim(), ...[box.x, box.y + scrollY, box.width, box.height].map(Math.round)]);
	}
	return boxes;
}

async function photograph(page, name, width) {
	await page.evaluate(async () => {
		document.activeElement.blur();
		const code = document.getElementById("pix"); // random, and in a font of the machine
		if (code) {
			code.textContent = "0123456789".repeat(17);
			code.style.fontFamily = "Inter";
			document.querySelector("img.qr").style.visibility = "hidden";
		}
		scrollTo(0, 0);
		await document.fonts.ready;
		await Promise.all([...document.images].map((image) => { image.loading = "eager"; return image.decode(); }));
	});
	const boxes = await page.evaluate(measure, measured);
	expect(boxes.length > 10, `${name} has elements`);
	const lines = boxes.map((box) => `\t[${box.map((part) => JSON.stringify(part)).join(", ")}]`);
	writeFileSync(join(place.out, `${name}-${width}.json`), `[\n${lines.join(",\n")}\n]\n`);
	await page.screenshot({ path: join(place.out, `${name}-${width}.png`), fullPage: true });
}

const browser = await launch(["--hide-scrollbars", "--font-render-hinting=none"]);
try {
	await Promise.all([[390, 844], [1280, 900]].map(async ([width, height]) => {
		for (const { name, path, zone, status, typed } of place.pages) {
			const page = await visit(browser, { viewport: { width, height }, ...(zone && { timezoneId: zone }) });
			await page.clock.setFixedTime(new Date(place.now));
			let answer = await page.goto(place.url + path);
			if (typed) {
				for (const [id, text] of Object.entries(typed)) await page.fill("#" + id, text);
				[answer] = await Promise.all([page.waitForNavigation(), page.locator("button[type=submit]").click()]);
			}
			expect(answer.status() === status, `${name}: ${answer.status()}`);
			await photograph(page, name, width);
			await page.context().close();
		}
	}));
} finally {
	await browser.close();
}
console.log(`${counted()} checks, ${failures.length} failures`);
for (const failure of failures) console.log("- " + failure);
process.exit(failures.length ? 1 : 0);
