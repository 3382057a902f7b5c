// What the booking pages do better with JavaScript. They work without.
(() => {
	"use strict";
	const body = document.body, pageData = body.dataset, lang = document.documentElement.lang;

	// Times in the visitor's own zone, where the clocks differ.
	const clock = (at, zone) => new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", hourCycle: pageData.hours, timeZone: zone }).format(at);
	const day = (at, zone) => new Intl.DateTimeFormat(lang, { weekday: "short", day: "numeric", timeZone: zone }).format(at);
	const offset = (at, zone) => new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "shortOffset" }).formatToParts(at).find((part) => part.type === "timeZoneName").value.replace("-", "−").replace(/\+0$/, "");
	const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
	if (pageData.zone && own) {
		let differs = false;
		for (const time of document.querySelectorAll("time[data-local]")) {
			const at = new Date(time.dateTime);
			const other = day(at, own) !== day(at, pageData.zone);
			if (!other && clock(at, own) === clock(at, pageData.zone)) continue;
			differs = true;
			const here = (other ? day(at, own) + " " : "") + clock(at, own), zone = offset(at, own);
			const [before, after] = pageData.yourTime.split("%s");
			const note = document.createElement("span");
			note.className = "local";
			note.textContent = `${before}${here}${after} (${zone})`;
			if (time.dataset.local === "short") { // where there are many: the words for those who listen
				note.textContent = `${here} ${zone}`;
				const words = document.createElement("span");
				words.className = "unseen";
				words.textContent = after;
				note.append(words);
			}
			const label = (time.closest("s, strong") || time).nextElementSibling; // the organization's zone
			(label && label.matches(".in-zone") ? label : time).after(" ", note);
		}
		const legend = document.querySelector("[data-own-zone]");
		if (legend && differs) legend.append(" · " + pageData.yourZone.replace("%s", own.split("/").pop().replaceAll("_", " ")));
	}

	// Some work for the machine, where the business wants it: a number whose hash is the
	// one that was asked for. Whoever is quicker than that waits for it.
	const proof = document.querySelector("[data-proof]");
	if (proof && window.crypto && crypto.subtle) {
		const { maxnumber, ...asked } = JSON.parse(proof.dataset.proof);
		const solve = async () => {
			const text = new TextEncoder();
			for (let number = 0; number <= maxnumber; number++) {
				const sum = new Uint8Array(await crypto.subtle.digest(asked.algorithm, text.encode(asked.salt + number)));
				if (Array.from(sum, (one) => one.toString(16).padStart(2, "0")).join("") !== asked.challenge) continue;
				proof.value = btoa(JSON.stringify({ ...asked, number }));
				return;
			}
		};
		let waiting = false;
		const solved = solve();
		proof.form.addEventListener("submit", (event) => {
			if (proof.value) return;
			event.preventDefault();
			event.stopImmediatePropagation();
			if (waiting) return;
			waiting = true;
			const button = proof.form.querySelector("button[type=submit]");
			button.setAttribute("aria-busy", "true");
			solved.then(() => proof.value && proof.form.requestSubmit(button));
		});
	}

	// One press is enough. Coming back to the page makes the button good again.
	for (const form of document.querySelectorAll("form[data-once]")) {
		const button = form.querySelector("button[type=submit]");
		const label = button && button.textContent;
		form.addEventListener("submit", (event) => {
			if (form.dataset.sent) return event.preventDefault();
			form.dataset.sent = "yes";
			if (button) {
				button.setAttribute("aria-busy", "true");
				if (button.classList.contains("primary")) button.textContent = pageData.booking;
			}
		});
		addEventListener("pageshow", () => {
			delete form.dataset.sent;
			if (button) {
				button.removeAttribute("aria-busy");
				button.textContent = label;
			}
		});
	}

	// The Pix code, with one press.
	for (const button of document.querySelectorAll("[data-copy]")) {
		const source = document.getElementById(button.dataset.copy), label = button.textContent;
		const status = document.querySelector("[data-status]");
		button.hidden = false;
		button.addEventListener("click", async () => {
			source.select();
			try {
				await navigator.clipboard.writeText(source.value);
			} catch {
				if (!document.execCommand("copy")) return;
			}
			button.textContent = status.textContent = pageData.copied;
			setTimeout(() => { button.textContent = label; status.textContent = ""; }, 2500);
		});
	}

	// A deposit that is waited for: how long, and whether it has come.
	const watched = document.querySelector("[data-watch]");
	if (watched) {
		const left = watched.querySelector("[data-left]"), expires = Date.parse(watched.dataset.expires);
		const state = document.querySelector("[data-state]").dataset.state;
		const two = (n) => String(n).padStart(2, "0");
		const tick = () => {
			const seconds = Math.floor((expires - Date.now()) / 1000);
			left.textContent = seconds > 0 ? pageData.timeLeft.replace("%s", seconds >= 3600
				? Math.floor(seconds / 3600) + ":" + two(Math.floor(seconds / 60) % 60) + ":" + two(seconds % 60)
				: Math.floor(seconds / 60) + ":" + two(seconds % 60)) : "";
		};
		const ask = async () => {
			if (document.hidden) return;
			try {
				const answer = await fetch(location.href, { cache: "no-store" });
				if (!answer.ok) return;
				const now = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-state]");
				const code = Boolean(now && now.ownerDocument.getElementById("pix"));
				if (now && (now.dataset.state !== state || code !== Boolean(document.getElementById("pix")))) location.reload();
			} catch {
				// Away for a moment; it is asked again.
			}
		};
		if (expires) {
			tick();
			setInterval(tick, 1000);
		}
		setInterval(ask, 8000);
	}
})();
