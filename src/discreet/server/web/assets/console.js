// The console: asks by JSON, and shows what comes back. The key lives in its field and nowhere else.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const find = (id) => document.getElementById(id);
let asked = null; // the last question and its key: asked again after a failure on the way, it is charged once

function make(tag, text, ...inside) {
  const element = document.createElement(tag);
  if (text !== null) element.textContent = text;
  element.append(...inside);
  return element;
}

function row(tag, cells) {
  return make("tr", null, ...cells.map((cell) => (cell instanceof Node ? cell : make(tag, cell))));
}

function table(heads, rows) {
  const found = make("table", null, make("thead", null, row("th", heads)));
  found.append(make("tbody", null, ...rows.map((cells) => row("td", cells))));
  const scroll = make("div", null, found);
  scroll.className = "scroll";
  return scroll;
}

function plain(value) {
  if (value === null) return "";
  if (typeof value === "object") return String(Object.values(value)[0]);
  return typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(6) : String(value);
}

function number(value) {
  const text = value !== null && typeof value === "object" ? String(Object.values(value)[0]) : value;
  if (typeof text !== "string") return typeof text === "number" ? text : NaN;
  const [above, below] = text.split("/");
  return below === undefined ? Number(above) : Number(above) / Number(below);
}

function amounts(cost) {
  const all = Object.entries(cost).filter(([name, much]) => name === "epsilon" || number(much) > 0);
  const told = all.filter(([name]) => name !== "rho" || !all.some(([other]) => other === "epsilon"));
  return told.map(([name, much]) => `${name} ${Number(number(much).toPrecision(6))}`).join(", ") || "nothing";
}

// An error bar: where the value lies in its interval, all rows of a column on one scale.
function bar(value, ends, scale) {
  const at = (x) => 4 + (92 * (x - scale[0])) / (scale[1] - scale[0] || 1);
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "bar");
  picture.setAttribute("viewBox", "0 0 100 12");
  picture.setAttribute("preserveAspectRatio", "none");
  const draw = (tag, kind, facts) => {
    const part = document.createElementNS(SVG, tag);
    part.setAttribute("class", kind);
    for (const [name, fact] of Object.entries(facts)) part.setAttribute(name, String(fact));
    picture.append(part);
  };
  draw("line", "grid", { x1: 0, x2: 100, y1: 6, y2: 6 });
  if (ends.every(Number.isFinite)) draw("line", "span", { x1: at(ends[0]), x2: at(ends[1]), y1: 6, y2: 6 });
  draw("rect", "now", { x: at(value) - 1, y: 1, width: 2, height: 10 });
  return make("td", null, picture);
}

function answerTable(reply) {
  const heads = [];
  const scales = {};
  reply.columns.forEach((name, place) => {
    heads.push(name);
    if (!(name in reply.intervals)) return;
    heads.push("95 %", "");
    const all = reply.intervals[name].flat().map(number).concat(reply.rows.map((one) => number(one[place])));
    const finite = all.filter(Number.isFinite);
    scales[name] = [Math.min(...finite), Math.max(...finite)];
  });
  const rows = reply.rows.map((values, line) =>
    values.flatMap((value, place) => {
      const name = reply.columns[place];
      if (!(name in scales)) return [plain(value)];
      const ends = reply.intervals[name][line];
      const drawn = bar(number(value), ends.map(number), scales[name]);
      const span = make("td", `${plain(ends[0])} to ${plain(ends[1])}`);
      span.className = "span";
      return [plain(value), span, drawn];
    }),
  );
  return table(heads, rows);
}

function show(title, parts, isWrong = false) {
  const panel = make("div", null, make("h2", title), ...parts);
  panel.className = isWrong ? "panel wrong" : "panel";
  panel.dataset.kind = isWrong ? "wrong" : title.toLowerCase();
  find("out").replaceChildren(panel);
}

async function send(path, body, headers = {}) {
  const reply = await fetch(`/v1/datasets/${encodeURIComponent(find("dataset").value)}${path}`, {
    method: body === null ? "GET" : "POST",
    headers: {
      Authorization: `Bearer ${find("key").value.trim()}`,
      ...(body === null ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: body === null ? null : JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
  });
  const said = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(said.message), { kind: said.error });
  return said;
}

function question() {
  const study = find("study").value.trim();
  return study === "" ? { sql: find("sql").value } : { sql: find("sql").value, study };
}

async function price() {
  const quote = await send("/plans", question());
  const errors = quote.columns.map((one) => [
    one.name, one.error === null ? "not known beforehand" : `± ${Number(one.error.toPrecision(4))}`, one.words,
  ]);
  const refused = quote.refusal === null ? [] : [make("p", `It would be refused now. ${quote.refusal}`)];
  refused.forEach((one) => one.classList.add("refused"));
  const use = quote.words.split("\n").filter((line) => line.startsWith("use ")).map((line) => line.slice(4).trim());
  const note = make("p", `${use.join(". ")}.`);
  note.className = "note";
  show("Price", [
    make("p", `Asking this charges ${amounts(quote.cost)}.`),
    ...refused,
    ...(use.length ? [note] : []),
    table(["column", "off by, at 95 %", ""], errors),
    make("pre", quote.words),
  ]);
}

async function buy() {
  const body = { ...question(), insist: find("insist").checked };
  const what = JSON.stringify([find("dataset").value, body]);
  if (asked === null || asked.what !== what) {
    const bits = crypto.getRandomValues(new Uint8Array(16));
    asked = { what, key: Array.from(bits, (one) => one.toString(16).padStart(2, "0")).join("") };
  }
  const reply = await send("/queries", body, { "Idempotency-Key": asked.key });
  asked = null;
  const paid = reply.repeated ? "asked before, and charged nothing now" : `charged ${amounts(reply.cost)}`;
  const parts = [answerTable(reply), make("p", `${reply.kind}; ${paid}.`)];
  if (reply.caps.length) parts.push(make("p", `True values are of what counts: ${reply.caps.join("; ")}.`));
  if (reply.receipt !== null) {
    const proof = make("pre", JSON.stringify(reply.receipt, null, 1));
    parts.push(make("details", null, make("summary", "Receipt, to keep"), proof));
  }
  show("Answer", parts);
  const budget = await send("/budget", null);
  parts[1].textContent += ` Left for you: ${amounts(budget.left)}.`;
}

// What is declared of a column, in the words of the schema: all of it is public.
function declared(column) {
  const { kind, values, lower, upper, grid, ...rest } = column;
  const said = values === undefined ? [] : [values.map(plain).join(", ")];
  if (lower !== undefined) said.push(`${plain(lower)} to ${plain(upper)}`);
  if (grid !== undefined && number(grid) !== 1) said.push(`in steps of ${plain(grid)}`);
  for (const [name, value] of Object.entries(rest)) said.push(`${name} ${plain(value)}`);
  return said.join(", ");
}

async function list() {
  const facts = await send("", null);
  const budget = await send("/budget", null);
  const rows = Object.entries(facts.schema.columns).map(([name, one]) => [name, one.kind, declared(one)]);
  const free = facts.shared_columns.length ? `Counts over ${facts.shared_columns.join(", ")} cost nothing. ` : "";
  show("Columns", [
    table(["column", "kind", "declared"], rows),
    make("p", `${free}Everything else has a price. Left for you: ${amounts(budget.left)}.`),
  ]);
}

async function run(work, needed = find("ask")) {
  const buttons = [find("price"), find("buy"), find("columns")];
  buttons.forEach((one) => { one.disabled = true; });
  find("busy").textContent = "…";
  try {
    if (needed.reportValidity()) await work();
  } catch (error) {
    const isSaid = error.kind !== undefined;
    const said = isSaid
      ? error.message.replaceAll("pass insist=True", "tick insist")
      : "The server cannot be reached. Ask again: nothing is charged twice.";
    show(isSaid ? "Refused" : "No reply", [make("p", said)], true);
    if (isSaid) asked = null;
  } finally {
    buttons.forEach((one) => { one.disabled = false; });
    find("busy").textContent = "";
  }
}

find("ask").addEventListener("submit", (event) => { event.preventDefault(); run(price); });
find("buy").addEventListener("click", () => run(buy));
find("columns").addEventListener("click", () => run(list, find("key")));
