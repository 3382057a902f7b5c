import { expect, look, open, place, run, shows } from "./console.mjs";

// Phones of the simulated network: pair one with a connection, and write from another.
async function chats(browser) {
	const page = await open(browser, "/phone");
	await shows(page, "SIMULATED.");
	await shows(page, "No phones yet");
	await look(page, "phone-empty");
	const add = async (number, name) => {
		await page.getByLabel("Number", { exact: true }).fill(number);
		await page.getByLabel("Name").fill(name);
		await page.getByRole("button", { name: "Add a phone" }).click();
		await shows(page, `Chat of ${name}`);
	};
	await add("5511900000001", "Company");
	await page.getByText("Pair a connection").first().click();
	await page.getByLabel("Text of the QR code").fill(place.code);
	await page.getByRole("button", { name: "Pair a connection" }).click();
	await shows(page, "Paired.");
	await add("5511987654321", "Ana");
	await shows(page, "No messages yet.");
	await page.getByLabel("To the connection").fill("5511900000001");
	await page.getByLabel("Message").fill("Good morning");
	await page.keyboard.press("Enter");
	await shows(page, "Good morning", "ol");
	let answered;
	for (const until = Date.now() + 45000; ; await page.waitForTimeout(100)) { // the ticket is made after the phone shows the message
		answered = await fetch(`${place.url}/messaging/tickets/1/messages`, {
			method: "POST",
			headers: { "Content-Type": "application/json", Authorization: `Bearer ${place.token}` },
			body: '{"body":"Welcome"}',
		});
		if (answered.status !== 404 || Date.now() > until) {
			break;
		}
	}
	expect(answered.status === 201, `the company answers: ${answered.status}`);
	await shows(page, "Welcome", "ol");
	await page.getByText("Raw").first().click();
	await shows(page, '"isOwn": true');
	await look(page, "phone");
	expect(page.url() === `${place.url}/phone?number=5511987654321`, `the chosen phone is in the address: ${page.url()}`);
	await page.getByLabel("Latency, ms").fill("5");
	await page.getByRole("button", { name: "Apply" }).click();
	await shows(page, "Applied.");
	await page.getByLabel("To the connection").fill("123");
	await page.getByLabel("Message").fill("Nobody");
	await page.keyboard.press("Enter");
	await shows(page, "That did not work. Invalid number format");
}

async function fails(browser) {
	const page = await open(browser, "/deliveries");
	let answer;
	await page.route("**/messaging/sandbox/phones", (route) => new Promise((go) => { answer = () => go(route.abort()); }));
	await page.goto(`${place.url}/phone`);
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "phone-loading");
	answer();
	await page.unroute("**/messaging/sandbox/phones");
	await page.route("**/messaging/sandbox/phones", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403}' }));
	await page.goto(`${place.url}/phone`);
	await shows(page, "Not allowed");
	await look(page, "phone-forbidden");
	await page.unroute("**/messaging/sandbox/phones");
	await page.route("**/messaging/sandbox/phones", (route) => route.fulfill({ status: 404, json: {} }));
	await page.goto(`${place.url}/phone`);
	await shows(page, "The sandbox is off");
	await look(page, "phone-off");
}

await run(chats, fails);
