import { expect, look, open, place, run, shows, tryAgain } from "./console.mjs";

async function found(browser) {
	const page = await open(browser, "/lookup");
	const addresses = [];
	page.on("request", (request) => addresses.push(request.url()));
	await shows(page, "Nothing looked up yet");
	await look(page, "lookup-start");
	await page.getByLabel("Phone number").fill("(11) 98765-4321");
	await page.keyboard.press("Enter");
	await shows(page, "Found for +*********4321");
	await shows(page, "Maria S.");
	await shows(page, "Pine Clinic");
	await shows(page, "note.created", "#things ~ div");
	const links = page.locator("[data-row-link]");
	expect(await links.count() === 2, `the deliveries that touched her: ${await links.count()}`);
	const text = (await page.locator("main section").allInnerTexts()).join();
	expect(!text.includes("98765") && !text.includes("Silva"), `number and name are masked: ${text}`);
	await look(page, "lookup");
	const opened = [];
	for (const n of [0, 1]) {
		await links.nth(n).click();
		await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
		await shows(page, "note.created", "h1");
		opened.push(await page.locator("main").innerText());
		await page.goBack();
		await shows(page, "Maria S."); // the result is still there
	}
	// One was sent, the other received: nobody here can send that again.
	const received = opened.filter((text) => text.includes("Received once, responded with 20") && text.includes("Sender") && !text.includes("Send again"));
	const sent = opened.filter((text) => text.includes("Receiver") && text.includes("Send again"));
	expect(received.length === 1 && sent.length === 1, `one was received and one sent: ${opened}`);
	expect(page.url() === `${place.url}/lookup`, "the number is not in the address");
	expect(addresses.length > 0 && !addresses.some((address) => /9?8765.?4321/.test(address)), `the number is in no request's address: ${addresses}`);
	await page.getByRole("button", { name: "Clear" }).click();
	await shows(page, "Nothing looked up yet");
	await page.getByLabel("Phone number").fill("+1 415 555 2671");
	await page.getByRole("button", { name: "Look up" }).click();
	await shows(page, "No product has a match.");
	await shows(page, "No recent delivery is about them.");
	await look(page, "lookup-nothing");
}

// By e-mail address and by the end of a CPF, as hub lookup does: which of them it is, the text says.
async function foundOtherwise(browser) {
	const page = await open(browser, "/lookup");
	const field = page.getByLabel("e-mail address or the last two digits of a CPF");
	const sent = [];
	page.on("request", (request) => request.url().endsWith("/api/v1/lookup") && sent.push(request.postData()));
	const addresses = [];
	page.on("request", (request) => addresses.push(request.url()));
	await field.fill("Maria.Souza@example.com");
	await page.keyboard.press("Enter");
	await shows(page, "Found for m***@example.com");
	await shows(page, "Maria S.");
	await page.locator("[data-row-link]").first().waitFor();
	await look(page, "lookup-email");
	for (const end of ["25", "***.***.***-25", "CPF…25", "529.982.247-25", "52998224725", "529 982 247 25"]) {
		await page.getByRole("button", { name: "Clear" }).click();
		await shows(page, "Nothing looked up yet");
		await field.fill(end);
		await page.keyboard.press("Enter");
		await shows(page, "Found for ***.***.***-25");
		await shows(page, "Paulo L.");
	}
	await look(page, "lookup-cpf");
	const asked = JSON.stringify(sent.map((body) => JSON.parse(body)));
	expect(asked === JSON.stringify([{ email: "Maria.Souza@example.com" }, ...Array(6).fill({ cpf: "25" })]), `what is sent: ${asked}`);
	expect(!addresses.some((address) => /souza|529\.?982|=25/i.test(address)), `nothing of it is in an address: ${addresses}`);
	await field.fill("Maria Souza");
	await page.keyboard.press("Enter");
	await shows(page, "Write a phone number, an e-mail address or the last two digits of a CPF.", "[role=alert]");
	await field.fill("11987650034");
	await page.keyboard.press("Enter");
	await shows(page, "These digits are a CPF and may be a mobile number.", "[role=alert]");
	expect(sent.length === 7, "neither names nor what may be a CPF are looked up");
}

async function fails(browser) {
	const page = await open(browser, "/lookup");
	const look_up = async () => {
		await page.getByLabel("Phone number").fill("11 98765-4321");
		await page.getByRole("button", { name: "Look up" }).click();
	};
	await page.getByLabel("Phone number").fill("98765");
	await page.keyboard.press("Enter");
	await shows(page, "must be a phone number with its area code");
	await look(page, "lookup-invalid");
	let answer;
	await page.route("**/api/v1/lookup", (route) => new Promise((go) => { answer = () => go(route.abort()); }));
	await look_up();
	await page.locator("main h1").waitFor();
	await page.locator("main [role=status][aria-label=Loading]").waitFor();
	await look(page, "lookup-loading");
	answer();
	await shows(page, "This could not be loaded");
	await look(page, "lookup-error");
	await page.unroute("**/api/v1/lookup");
	await tryAgain(page);
	await shows(page, "Maria S.");
	await page.route("**/api/v1/lookup", (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: '{"status":403,"code":"forbidden"}' }));
	await look_up();
	await shows(page, "Not allowed");
	await look(page, "lookup-forbidden");
}

await run(found, foundOtherwise, fails);
