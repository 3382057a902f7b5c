"use strict";

const element = (id) => document.getElementById(id);
const acks = { "-1": "failed", 0: "waits", 1: "sent", 2: "delivered", 3: "read", 4: "played" };
const pollEvery = 2000; // milliseconds
let phone = null; // the chosen one
let shown = ""; // the chat as it was drawn last

function say(text, isBad = false) {
  element("status").textContent = text;
  element("status").classList.toggle("bad", isBad);
}

async function call(method, path, body) {
  const response = await fetch(path, { method, headers: body ? { "Content-Type": "application/json" } : {}, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail || answer.title);
  return answer;
}

function on(id, work) {
  element(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    try { await work(); } catch (error) { say(error.message, true); }
  });
}

async function loadPhones() {
  const phones = await call("GET", "phones");
  element("no-phones").hidden = phones.length > 0;
  const hadFocus = element("phones").contains(document.activeElement);
  element("phones").replaceChildren(...phones.map((item) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = item.name;
    const number = document.createElement("small");
    number.textContent = item.number;
    button.append(number);
    button.setAttribute("aria-pressed", String(phone !== null && phone.number === item.number));
    button.addEventListener("click", () => choose(item));
    const entry = document.createElement("li");
    entry.append(button);
    return entry;
  }));
  if (hadFocus) element("phones").querySelector("[aria-pressed=true]")?.focus();
}

async function choose(item) {
  phone = item;
  shown = "";
  element("phone").hidden = false;
  element("phone-title").textContent = `${item.name} · ${item.number}`;
  element("send-to").value = "";
  try { await Promise.all([loadPhones(), loadChat()]); } catch (error) { say(error.message, true); }
}

function bubble(message) {
  const entry = document.createElement("li");
  entry.classList.toggle("own", message.isOwn);
  entry.append(message.body);
  if (message.mediaUrl) {
    if (message.mediaUrl.startsWith("data:image/")) {
      const picture = document.createElement("img");
      picture.src = message.mediaUrl;
      picture.alt = "Picture that was sent";
      entry.append(picture);
    } else if (/^https?:/.test(message.mediaUrl)) {
      const link = document.createElement("a");
      link.href = message.mediaUrl;
      link.textContent = "Open the file";
      entry.append(document.createElement("br"), link);
    } else {
      entry.append(" (file)");
    }
  }
  const note = document.createElement("small");
  const time = new Date(message.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const state = message.waiting ? "waits at the network" : acks[message.ack];
  note.textContent = message.isOwn ? `to ${message.to} · ${time} · ${state}` : `from ${message.from} · ${time} · ${state}`;
  entry.append(note);
  return entry;
}

async function loadChat() {
  if (phone === null) return;
  const number = phone.number;
  const { messages } = await call("GET", `phones/${number}/chat`);
  const text = JSON.stringify(messages);
  if (phone.number !== number || text === shown) return;
  shown = text;
  const chat = element("chat");
  chat.replaceChildren(...messages.map(bubble));
  chat.scrollTop = chat.scrollHeight;
  const last = messages.at(-1);
  if (last && !element("send-to").value) element("send-to").value = last.isOwn ? last.to : last.from;
}

function readFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new Error("The file cannot be read."));
    reader.readAsDataURL(file);
  });
}

on("add", async () => {
  const item = await call("POST", "phones", { number: element("add-number").value, name: element("add-name").value });
  element("add").reset();
  say(`${item.name} was added.`);
  await choose(item);
});

on("scan", async () => {
  const pairing = await call("POST", `phones/${phone.number}/scan`, { code: element("scan-code").value });
  element("scan").reset();
  say(`Connection ${pairing.connectionId} is ${pairing.status}.`);
});

on("send", async () => {
  const file = element("send-file").files[0];
  if (file && file.size > 600_000) throw new Error("The file is longer than 600 KB.");
  const message = { to: element("send-to").value, body: element("send-body").value };
  if (file) message.mediaUrl = await readFile(file);
  await call("POST", `phones/${phone.number}/send`, message);
  element("send-body").value = element("send-file").value = "";
  say("Sent.");
  await loadChat();
});

element("read").addEventListener("click", async () => {
  try {
    await call("POST", `phones/${phone.number}/read`);
    await loadChat();
    say("Read.");
  } catch (error) { say(error.message, true); }
});

loadPhones().catch((error) => say(error.message, true));
setInterval(() => { if (!document.hidden) loadChat().catch((error) => say(error.message, true)); }, pollEvery);
