// Draws the reference from the openapi.json beside it. No text of the document is ever taken for
// HTML: everything is put in place as text.
"use strict";

const main = document.getElementById("main");
const verbs = ["get", "post", "put", "patch", "delete"];
let api;

// el makes an element; children are elements or texts.
function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ""));
  return node;
}

// text splits `code` out of plain text.
function text(plain) {
  return (plain ?? "").split(/(`[^`]+`)/).map((part) => (/^`.*`$/.test(part) ? el("code", {}, part.slice(1, -1)) : part));
}

// resolve follows references; of a choice with nothing it takes the other part.
function resolve(schema) {
  let found = schema;
  for (;;) {
    if (found?.$ref) found = found.$ref.replace("#/", "").split("/").reduce((at, key) => at?.[key], api);
    else if (found?.anyOf) found = found.anyOf.find((one) => one.type !== "null");
    else return found ?? {};
  }
}

const nullable = (schema) => [resolve(schema).type].flat().includes("null") || (schema?.anyOf ?? []).some((one) => one.type === "null");

// kindOf names what a value looks like, with its bounds.
function kindOf(schema) {
  const s = resolve(schema);
  const types = [s.type].flat().filter(Boolean);
  let kind = types.filter((type) => type !== "null").join(" or ") || "any";
  if (kind === "array") kind = "list of " + kindOf(s.items);
  if (s.format) kind += ` (${s.format})`;
  if (s.enum) kind = s.enum.filter((value) => value !== null).map((value) => JSON.stringify(value)).join(" | ");
  const bounds = [];
  if (s.minimum !== undefined || s.maximum !== undefined) bounds.push(`${s.minimum ?? "…"} to ${s.maximum ?? "…"}`);
  if (s.minLength !== undefined || s.maxLength !== undefined) bounds.push(`${s.minLength ?? 0} to ${s.maxLength ?? "…"} characters`);
  if (s.minItems !== undefined || s.maxItems !== undefined) bounds.push(`${s.minItems ?? 0} to ${s.maxItems ?? "…"} entries`);
  if (s.default !== undefined) bounds.push("default " + JSON.stringify(s.default));
  return kind + (nullable(schema) ? " or null" : "") + (bounds.length ? ", " + bounds.join(", ") : "");
}

// exampleOf makes a value that fits a schema; undefined where nothing is as good.
function exampleOf(schema, depth = 0) {
  const s = resolve(schema);
  if (s.examples?.length) return s.examples[0];
  if (s.default !== undefined) return s.default;
  if (s.enum) return s.enum[0];
  const type = [s.type].flat().find((one) => one !== "null");
  if (type === "object" && depth < 6) {
    return Object.fromEntries(Object.entries(s.properties ?? {}).map(([key, value]) => [key, exampleOf(value, depth + 1)]));
  }
  if (type === "array" && depth < 6) return [exampleOf(s.items, depth + 1)];
  if (nullable(schema)) return null;
  const made = { uuid: "019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11", "date-time": "2026-01-02T03:04:05Z" };
  const string = made[s.format] ?? "text".padEnd(s.minLength ?? 0, "-").slice(0, s.maxLength);
  return { string, integer: s.minimum ?? 0, number: s.minimum ?? 0, boolean: true }[type] ?? {};
}

// sampleOf is what a request can have in it: of what may be left out, only what there is
// an example of.
function sampleOf(schema, depth = 0) {
  const s = resolve(schema);
  if (s.items && !s.examples?.length && s.default === undefined && depth < 6) return [sampleOf(s.items, depth + 1)];
  if (!s.properties || s.examples?.length || depth > 6) return exampleOf(schema, depth);
  const given = ([key, value]) => s.required?.includes(key) || resolve(value).examples?.length;
  return Object.fromEntries(Object.entries(s.properties).filter(given).map(([key, value]) => [key, sampleOf(value, depth + 1)]));
}

function row(name, schema, required, doc) {
  return el("tr", {},
    el("td", {}, name, required ? el("span", { class: "must" }, " required") : ""),
    el("td", {}, el("span", { class: "kind" }, kindOf(schema)), doc ? el("div", {}, text(doc)) : ""));
}

// fields lists an object's properties, those of objects inside it indented by name.
function fields(schema, prefix = "", depth = 0) {
  const s = resolve(schema);
  return Object.entries(s.properties ?? {}).flatMap(([name, value]) => {
    const inner = resolve(value);
    const nested = inner.properties ? value : inner.items && resolve(inner.items).properties ? inner.items : undefined;
    const path = prefix + name + (inner.items ? "[]" : "");
    return [row(path, value, s.required?.includes(name), value.description ?? inner.description),
      ...(nested && depth < 4 ? fields(nested, path + ".", depth + 1) : [])];
  });
}

function block(title, schema, example) {
  const rows = fields(schema);
  return [el("h4", {}, title), rows.length ? el("table", {}, el("tbody", {}, rows)) : "",
    el("pre", { tabindex: 0 }, el("code", {}, JSON.stringify(example, null, 2)))];
}

const bodyOf = (content) => content && Object.values(content)[0]?.schema;

// addressOf is where the document's server has a path.
const addressOf = (path) => new URL(api.servers?.[0]?.url ?? "", location.origin).href.replace(/\/$/, "") + path;

// callers says who may call: who of those that a document knows is in its schemes' own words.
function callers(op) {
  const alternatives = (op.security ?? []).map((one) => Object.entries(one)[0]);
  if (!alternatives.length) return "Open to everyone.";
  const name = (alternative) => {
    if (!alternative) return "everyone";
    const [scheme, needs] = alternative;
    if (scheme === "key") return "a key (X-Integration-Key)" + (needs.length ? " with the scope " + needs.join(", ") : "");
    if (scheme !== "bearer") return scheme;
    const who = !api.servers?.length ? "an operator" : needs.includes("admin") ? "an administrator" : "a user";
    return who + " (Authorization: Bearer)";
  };
  return "For " + alternatives.map(name).join(" or ") + ".";
}

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

// plain writes a value as it stands in an address or a form.
const plain = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value));

// address is where an example of a request goes: parameters that have to be there are in it.
function address(op) {
  const given = (op.parameters ?? []).map((p) => ({ ...p, value: [p.example ?? exampleOf(p.schema)].flat()[0] }));
  const path = given.filter((p) => p.in === "path").reduce((at, p) => at.replace(`{${p.name}}`, encodeURIComponent(plain(p.value))), op.path);
  const query = given.filter((p) => p.in === "query" && p.required).map((p) => `${p.name}=${encodeURIComponent(plain(p.value))}`);
  return addressOf(path) + (query.length ? "?" + query.join("&") : "");
}

// bodyLines are the part of a command that sends a body of the type that is asked for.
function bodyLines(body) {
  const [media, content] = Object.entries(body?.content ?? {})[0] ?? [];
  if (!media) return [];
  const sample = sampleOf(content.schema);
  const schema = resolve(content.schema);
  if (media === "multipart/form-data") {
    return Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
      .map(([name, value]) => "-F " + quoted(`${name}=` + (resolve(value).format === "binary" ? "@file" : plain(sample[name]))));
  }
  if (media === "application/x-www-form-urlencoded") {
    return Object.entries(sample).flatMap(([name, value]) => [value].flat().map((one) => "--data-urlencode " + quoted(`${name}=${plain(one)}`)));
  }
  if (media.endsWith("json")) return [`-H 'Content-Type: ${media}'`, "-d " + quoted(JSON.stringify(sample))];
  return [`-H 'Content-Type: ${media}'`, "--data-binary '@file'"];
}

function curl(op) {
  const schemes = (op.security ?? []).flatMap((one) => Object.keys(one));
  const lines = ["curl" + (op.verb === "get" ? "" : ` -X ${op.verb.toUpperCase()}`) + " " + quoted(address(op))];
  if (schemes.includes("bearer")) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  else if (schemes.includes("key")) lines.push(`-H "X-Integration-Key: $KEY"`);
  for (const p of op.parameters ?? []) {
    if (p.in === "header" && p.required) lines.push("-H " + quoted(`${p.name}: ${plain(p.example ?? exampleOf(p.schema))}`));
  }
  return [...lines, ...bodyLines(op.requestBody)].join(" \\\n  ");
}

function article(op) {
  const request = bodyOf(op.requestBody?.content);
  const answers = Object.entries(op.responses ?? {});
  const good = answers.filter(([status]) => status.startsWith("2"));
  const bad = answers.filter(([status]) => !status.startsWith("2"));
  return el("article", { id: op.operationId, "data-text": `${op.verb} ${op.path} ${op.summary} ${op.operationId}`.toLowerCase() },
    el("h3", {}, op.summary),
    el("div", { class: "call" }, el("span", { class: "verb " + op.verb }, op.verb.toUpperCase()), el("span", {}, new URL(addressOf("")).pathname.replace(/\/$/, "") + op.path)),
    el("p", { class: "who" }, callers(op), " ", text(op.description)),
    op.parameters?.length ? [el("h4", {}, "Parameters"),
      el("table", {}, el("tbody", {}, op.parameters.map((p) => row(`${p.name} · ${p.in}`, p.schema, p.required, p.description))))] : "",
    request ? block(op.requestBody.required ? "Request" : "Request (may be left out)", request, sampleOf(request)) : "",
    good.map(([status, answer]) => (bodyOf(answer.content)
      ? block("Answer " + status, bodyOf(answer.content), exampleOf(bodyOf(answer.content))) : el("h4", {}, `Answer ${status}, without a body`))),
    el("details", {}, el("summary", {}, "As a command, and errors"),
      el("pre", { tabindex: 0, class: "command" }, el("code", {}, curl(op))),
      el("table", {}, el("tbody", {}, bad.map(([status, answer]) => el("tr", {}, el("td", {}, status), el("td", {}, answer.description ?? "")))))));
}

function draw() {
  const operations = Object.entries(api.paths ?? {}).flatMap(([path, item]) =>
    verbs.filter((verb) => item[verb]).map((verb) => ({ ...item[verb], verb, path })));
  const named = (api.tags ?? []).map((tag) => tag.name);
  const groups = [...new Set([...named, ...operations.flatMap((op) => op.tags ?? ["other"])])]
    .map((name) => ({ name, doc: api.tags?.find((tag) => tag.name === name)?.description, list: operations.filter((op) => (op.tags ?? ["other"]).includes(name)) }))
    .filter((group) => group.list.length);
  document.title = api.info.title + " · API reference";
  document.querySelector(".brand").textContent = api.info.title;
  document.getElementById("toc").replaceChildren(...groups.map((group) => el("div", {}, el("h2", {}, group.name),
    el("ul", {}, group.list.map((op) => el("li", { "data-for": op.operationId },
      el("a", { href: "#" + op.operationId }, el("span", { class: "verb " + op.verb }, op.verb.toUpperCase()), el("span", {}, op.summary))))))));
  main.replaceChildren(
    el("h1", {}, api.info.title),
    el("p", { class: "version" }, `Version ${api.info.version} · OpenAPI ${api.openapi} · `, el("a", { href: source }, source)),
    ...(api.info.description ?? "").split("\n\n").map((part) => el("p", {}, text(part))),
    ...groups.map((group) => el("section", {}, el("h2", {}, group.name), el("p", {}, text(group.doc)), group.list.map(article))),
    el("p", { class: "none", id: "nothing", hidden: "" }, "Nothing found."));
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const one of main.querySelectorAll("article")) {
    one.hidden = !words.every((word) => one.dataset.text.includes(word));
    document.querySelector(`li[data-for="${CSS.escape(one.id)}"]`).hidden = one.hidden;
    if (!one.hidden) shown++;
  }
  for (const group of document.querySelectorAll("main section, #toc > div")) {
    group.hidden = !group.querySelector("article:not([hidden]), li:not([hidden])");
  }
  document.getElementById("nothing").hidden = shown > 0;
}

const source = location.pathname.replace(/\/docs\/?$/, "") + "/openapi.json";
document.getElementById("find").addEventListener("input", (event) => api && find(event.target.value));

fetch(source)
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error("status " + answer.status))))
  .then((document) => { api = document; draw(); })
  .catch((error) => main.replaceChildren(el("p", {}, "The reference could not be drawn: " + error.message)));
