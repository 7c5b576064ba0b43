// The grid of targets × steps: a table of which only the rows in sight exist. It loads all targets of
// the run once, as numbers, and then follows the events "state" and "delta" (runs/encode.go). The
// fields above it filter here; without scripts, the same form asks the server.

import { duration, instant } from "../web/base.js";

const rowHeight = 36; // px, as in runs.css
const spare = 8; // rows beyond the edges
const width = 7; // numbers of a cell: row, step, state, attempts, start, end, text
const unknownFlag = 32;
const finalState = 4; // states from this one on are final
const failed = 6; // states from this one on are not successful
const busy = 1;
const maxTicks = 100; // more do not fit into an address

const section = document.getElementById("targets");
const form = document.getElementById("targets-filter");
const place = document.getElementById("targets-rows");
const shownText = document.getElementById("targets-shown");
const bulk = document.getElementById("targets-bulk"); // null: the viewer may not do anything
const chosenText = document.getElementById("targets-chosen");
const all = bulk?.elements.namedItem("all");
const stateNames = [];
const stateNodes = [];
for (const s of document.querySelectorAll("#grid-states")[0].content.children) {
  stateNames.push(s.dataset.state);
  stateNodes.push(s.firstElementChild);
}

let epoch = 0, version = 0; // of the state that the page has
let created = 0; // ms: when the run was created, by the database's clock
let targets = []; // {server, database, id, cells: []}
let texts = []; // [group, text]
let steps = []; // {id, name}, from the page
let byName = []; // numbers of all targets by name
let order = []; // numbers of the targets that match, in order
let loading = null; // a promise while targets are loaded
let again = false; // load once more after this
let grid, body, pool = [];
let active = { row: 0, col: 0 };
let printing = false;
let drawn = 0; // of requestAnimationFrame; 0: nothing is to be drawn
let sorted = true;
let asked = ""; // the fields and the order of the last filter, as JSON
const ticks = new Set(); // IDs of the chosen databases or, if all that match are chosen, of the exceptions
let lastTick = -1; // the row of the last tick

/** A cell's numbers by name. */
const cellOf = (list, at) => ({
  state: list[at + 2] & (unknownFlag - 1), unknown: (list[at + 2] & unknownFlag) !== 0,
  attempts: list[at + 3], start: list[at + 4], end: list[at + 5], text: list[at + 6] - 1,
});

/** Takes an answer or a delta: what it says is absolute, so it may be repeated. */
function take(data) {
  if (data.created !== undefined) created = data.created;
  if (data.targets) {
    targets.length = data.targetsFrom;
    for (const [server, database, id] of data.targets) {
      const name = database ? server + "/" + database : server;
      targets.push({ server, database, id, name, folded: name.toLowerCase(), cells: [] });
    }
  }
  texts.length = Math.min(texts.length, data.textsFrom);
  if (data.targets) {
    const names = new Intl.Collator(undefined, { numeric: true }).compare;
    byName = targets.map((_, i) => i).sort((a, b) => names(targets[a].name, targets[b].name) || a - b);
  }
  for (const [group, text] of data.texts) texts.push({ group, text, folded: text.toLowerCase() });
  const list = data.cells;
  for (let at = 0; at < list.length; at += width) {
    const target = targets[list[at]];
    if (target) target.cells[list[at + 1]] = cellOf(list, at);
  }
  epoch = data.epoch;
  version = Math.max(version, data.to);
}

/** Loads what the page lacks, or all. */
async function load() {
  if (loading) {
    again = true;
    return loading;
  }
  loading = (async () => {
    do {
      again = false;
      const url = `${section.dataset.cells}?epoch=${epoch}&since=${version}&targets=${targets.length}&texts=${texts.length}`;
      const answer = await fetch(url, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const data = await answer.json();
      if (data.epoch !== epoch || data.from === 0) {
        targets = [];
        texts = [];
        version = 0;
      }
      take(data);
      filter();
    } while (again);
  })();
  try {
    await loading;
  } catch (error) {
    setTimeout(load, 5000); // the front is away; the bar on top says so
  } finally {
    loading = null;
  }
}

/** The fields of the form. */
function query() {
  const data = new FormData(form);
  const text = (name) => (data.get(name) ?? "").trim();
  return { q: text("q"), state: text("state"), server: text("server"), step: text("step"), error: text("error") };
}

/** Reports whether a cell is one that the fields ask for. */
function cellMatches(cell, step, f, state) {
  if (f.step && String(steps[step].id) !== f.step) return false;
  if (f.error && (cell.text < 0 || texts[cell.text].group !== f.error)) return false;
  switch (f.state) {
    case "": return true;
    case "unfinished": return cell.state < finalState;
    case "unsuccessful": return cell.state >= failed;
    case "unknown": return cell.unknown;
    default: return cell.state === state;
  }
}

/** Chooses the targets that match, and puts them in order. */
function filter() {
  const f = query();
  // Rows of another filter begin at the top. A repeated filter must not move them: keys may have been pressed in between.
  const asks = JSON.stringify([f, form.querySelector("[data-order]").value]);
  if (asks !== asked) {
    asked = asks;
    grid.scrollTop = 0;
    active = { row: 0, col: 0 };
    lastTick = -1;
    if (all?.checked) { // all that matched before
      all.checked = false;
      ticks.clear();
    }
  }
  const state = stateNames.indexOf(f.state);
  const text = f.q.toLowerCase(), server = f.server.toLowerCase();
  const found = [];
  for (const i of byName) {
    const t = targets[i];
    if (server && !t.server.toLowerCase().includes(server)) continue;
    const named = !text || t.folded.includes(text);
    for (let s = 0; s < steps.length; s++) {
      const cell = t.cells[s];
      if (cell && cellMatches(cell, s, f, state) && (named || (cell.text >= 0 && texts[cell.text].folded.includes(text)))) {
        found.push(i);
        break;
      }
    }
  }
  order = sort(found);
  const any = Object.values(f).some(Boolean);
  form.querySelector("[data-clear]").hidden = !any;
  for (const a of document.querySelectorAll("a[data-error]")) {
    if (a.dataset.error === f.error) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
  const n = (value) => value.toLocaleString();
  const message = `${n(order.length)} of ${n(targets.length)} ${targets.length === 1 ? "target" : "targets"}`;
  if (shownText.textContent !== message) shownText.textContent = message;
  if (bulk) {
    const databases = order.reduce((sum, i) => sum + (targets[i].database ? 1 : 0), 0);
    bulk.querySelector("[data-matches]").textContent = countOf(databases);
    showChosen();
  }
  active.row = Math.min(active.row, Math.max(0, order.length - 1));
  body.style.height = `${order.length * rowHeight}px`;
  grid.style.setProperty("--rows", String(order.length));
  grid.setAttribute("aria-rowcount", String(order.length + 1));
  draw(true);
}

const countOf = (n) => `${n.toLocaleString()} ${n === 1 ? "database" : "databases"}`;

/** Reports whether a target is chosen. */
const isChosen = (t) => Boolean(t.database) && ticks.has(t.id) !== all.checked;

/** Says how many databases are chosen, and whether that can be done. */
function showChosen() {
  const n = all.checked ? order.reduce((sum, i) => sum + (isChosen(targets[i]) ? 1 : 0), 0) : ticks.size;
  const many = ticks.size > maxTicks;
  const text = many ? `${countOf(n)} chosen: at most ${maxTicks} can be ticked one by one. Filter, and choose all that match.` : `${countOf(n)} chosen`;
  if (chosenText.textContent !== text) chosenText.textContent = text;
  chosenText.hidden = false;
  for (const button of bulk.querySelectorAll("button")) button.disabled = n === 0 || many;
}

/** Ticks a row, or with a range all rows since the last tick, as the row will be. */
function tick(row, range) {
  const t = targets[order[row]];
  if (!t?.database) return;
  const chosen = !isChosen(t);
  for (let i = range && lastTick >= 0 ? Math.min(row, lastTick) : row; i <= (range ? Math.max(row, lastTick) : row); i++) {
    const one = targets[order[i]];
    if (!one.database || isChosen(one) === chosen) continue;
    if (chosen !== all.checked) ticks.add(one.id);
    else ticks.delete(one.id);
  }
  lastTick = row;
  showChosen();
  draw(true);
}

/** Puts what is chosen into the form: the filter, and the IDs. */
function choose() {
  for (const [name, value] of Object.entries(query())) bulk.elements.namedItem(name).value = value;
  for (const e of bulk.querySelectorAll("[data-chosen]")) e.remove();
  for (const id of ticks) {
    const e = make("input");
    e.type = "hidden";
    e.name = all.checked ? "except" : "target";
    e.value = id;
    e.dataset.chosen = "";
    bulk.append(e);
  }
}

/** Sorts targets, which are in the order of their names, by the chosen order. */
function sort(found) {
  const by = form.querySelector("[data-order]").value;
  if (by === "name") return found;
  const rank = new Map();
  for (const i of found) {
    let best = 0;
    for (const c of targets[i].cells) {
      if (!c) continue;
      if (by === "slow") best = Math.max(best, c.start >= 0 ? (c.end >= 0 ? c.end : Number.MAX_SAFE_INTEGER) - c.start : 0);
      else best = Math.max(best, c.state >= failed ? 20 - c.state : c.state === busy ? 5 : c.state);
    }
    rank.set(i, best);
  }
  return found.sort((a, b) => rank.get(b) - rank.get(a)); // stable
}

/** Asks for a new picture; all: every row, not only those that came into sight. */
let drawAll = false;
function draw(all = false) {
  drawAll ||= all;
  if (!drawn) drawn = requestAnimationFrame(paint);
}

/** Shows the rows in sight, or all of them on paper. A row of the table uses the element of its number modulo the pool. */
function paint() {
  drawn = 0;
  const all = drawAll;
  drawAll = false;
  const height = grid.clientHeight;
  const first = printing ? 0 : Math.max(0, Math.floor(grid.scrollTop / rowHeight) - spare);
  const last = printing ? order.length - 1 : Math.min(order.length - 1, Math.ceil((grid.scrollTop + height) / rowHeight) + spare);
  const need = Math.max(last - first + 1, Math.ceil(height / rowHeight) + 2 * spare + 2);
  while (pool.length < need) pool.push(newRow());
  for (const r of pool) r.used = false;
  for (let i = first; i <= last; i++) {
    const r = pool[i % pool.length];
    r.used = true;
    if (all || r.index !== i || r.target !== order[i]) fill(r, i);
  }
  for (const r of pool) {
    if (!r.used && r.index >= 0) {
      r.index = -1;
      r.element.hidden = true;
    }
  }
  mark();
}

/** Makes an element with a class and a role. */
function make(tag, role, className) {
  const e = document.createElement(tag);
  if (role) e.setAttribute("role", role);
  if (className) e.className = className;
  return e;
}

/** Makes the element of a row. */
function newRow() {
  const element = make("div", "row", "row");
  element.hidden = true;
  const head = make("div", "rowheader");
  const box = bulk && make("input");
  if (box) {
    box.type = "checkbox";
    box.tabIndex = -1; // Space ticks the active row
    head.append(box);
  }
  const link = make("a");
  link.tabIndex = -1;
  const name = make("bdi", "", "name");
  const server = make("bdi", "", "note");
  link.append(name, server);
  head.append(link);
  element.append(head);
  const cells = steps.map((_, s) => {
    const cell = make("div", "gridcell");
    const a = make("a");
    a.tabIndex = -1;
    const note = make("bdi", "", "note");
    a.append(note);
    cell.append(a);
    cell.setAttribute("aria-colindex", String(s + 2));
    element.append(cell);
    return { cell, a, note, chip: null, state: -1 };
  });
  head.setAttribute("aria-colindex", "1");
  body.append(element);
  return { element, head, box, link, name, server, cells, index: -1, target: -1, used: false };
}

/** Shows control characters, which would change the text around them. */
function visible(text) {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => (c === "\n" || c === "\t" ? " " : c === "\r" ? "" : `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`));
}

/** Fills a row with a target. */
function fill(r, index) {
  const t = targets[order[index]];
  if (r.index !== index) {
    r.element.style.transform = `translateY(${index * rowHeight}px)`;
    r.element.setAttribute("aria-rowindex", String(index + 2));
    r.element.hidden = false;
  }
  if (r.target !== order[index]) {
    r.link.href = `${section.dataset.run}/targets/${t.id}`;
    r.name.textContent = visible(t.database || t.server);
    r.server.textContent = t.database ? visible(t.server) : "";
    r.link.title = t.name;
    if (r.box) {
      r.box.hidden = !t.database;
      r.box.setAttribute("aria-label", `Choose ${visible(t.name)}`);
    }
  }
  if (r.box) {
    r.box.checked = isChosen(t);
    r.element.classList.toggle("chosen", r.box.checked);
  }
  r.index = index;
  r.target = order[index];
  for (let s = 0; s < steps.length; s++) {
    const c = t.cells[s], view = r.cells[s];
    const state = c ? c.state : -1;
    if (view.state !== state) {
      view.chip?.remove();
      view.chip = c ? stateNodes[state].cloneNode(true) : null;
      if (view.chip) view.a.prepend(view.chip);
      view.state = state;
    }
    const note = c ? noteOf(c) : "";
    if (view.note.textContent !== note) view.note.textContent = note;
    const title = c && c.text >= 0 ? texts[c.text].text : "";
    if (view.note.title !== title) view.note.title = title;
    if (c) view.a.href = `${section.dataset.run}/targets/${t.id}?step=${steps[s].id}`;
    else view.a.removeAttribute("href");
  }
}

/** What a cell says beside its state: the attempt, how long it took, the message. */
function noteOf(c) {
  const parts = [];
  if (c.unknown) parts.push("outcome unknown");
  if (c.attempts > 1) parts.push(`attempt ${c.attempts}`);
  if (c.start >= 0 && c.end >= 0) parts.push(duration(c.end - c.start));
  else if (c.state === busy && c.start >= 0) parts.push(`since ${instant(new Date(created + c.start))}`);
  if (c.text >= 0) parts.push(visible(texts[c.text].text));
  return parts.join(" · ");
}

/** Marks the active cell for the keyboard and screen readers. */
function mark() {
  for (const e of body.querySelectorAll(".active")) {
    e.classList.remove("active");
    e.removeAttribute("id");
  }
  const r = pool.find((one) => one.index === active.row);
  const e = r && document.activeElement === grid ? (active.col === 0 ? r.head : r.cells[active.col - 1]?.cell) : null;
  if (e) {
    e.classList.add("active");
    e.id = "grid-active";
    grid.setAttribute("aria-activedescendant", "grid-active");
  } else {
    grid.removeAttribute("aria-activedescendant");
  }
}

/** Moves the active cell, and scrolls it into sight. */
function move(rows, cols) {
  active.row = Math.min(order.length - 1, Math.max(0, active.row + rows));
  active.col = Math.min(steps.length, Math.max(0, active.col + cols));
  const top = active.row * rowHeight;
  const inner = grid.clientHeight - rowHeight; // without the head
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top + rowHeight > grid.scrollTop + inner) grid.scrollTop = top + rowHeight - inner;
  draw();
}

/** Keys of the grid. */
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Math.max(1, Math.floor(grid.clientHeight / rowHeight) - 2);
  switch (event.key) {
    case "ArrowDown": case "j": move(1, 0); break;
    case "ArrowUp": case "k": move(-1, 0); break;
    case "ArrowRight": move(0, 1); break;
    case "ArrowLeft": move(0, -1); break;
    case "PageDown": move(page, 0); break;
    case "PageUp": move(-page, 0); break;
    case "Home": move(-order.length, 0); break;
    case "End": move(order.length, 0); break;
    case " ":
      if (!bulk) return;
      tick(active.row, event.shiftKey);
      break;
    case "Enter": {
      const r = pool.find((one) => one.index === active.row);
      const link = r && (active.col === 0 ? r.link : r.cells[active.col - 1].a);
      if (link?.href) location.assign(link.href);
      break;
    }
    default: return;
  }
  event.preventDefault();
  event.stopPropagation();
}

/** Puts the grid in the place of the table that the server has rendered. */
function build() {
  for (const th of document.querySelectorAll("#run-steps tbody tr")) {
    steps.push({ id: Number(th.dataset.key.slice(4)), name: th.querySelector("bdi")?.textContent ?? "" });
  }
  grid = make("div", "grid", "grid");
  grid.tabIndex = 0;
  grid.setAttribute("aria-labelledby", "targets-title");
  grid.setAttribute("aria-colcount", String(steps.length + 1));
  grid.style.setProperty("--steps", String(steps.length));
  const head = make("div", "row", "head");
  head.setAttribute("aria-rowindex", "1");
  for (const name of ["Target", ...steps.map((s) => `${s.id} ${s.name}`)]) {
    const e = make("div", "columnheader");
    const text = make("bdi", "", "name");
    text.textContent = visible(name);
    e.append(text);
    head.append(e);
  }
  body = make("div", "rowgroup", "body");
  grid.append(head, body);
  grid.addEventListener("scroll", () => draw(), { passive: true });
  grid.addEventListener("keydown", key);
  body.addEventListener("click", (event) => {
    const r = event.target.type === "checkbox" && pool.find((one) => one.box === event.target);
    if (!r) return;
    active = { row: r.index, col: 0 };
    tick(r.index, event.shiftKey);
    grid.focus({ preventScroll: true });
  });
  grid.addEventListener("focus", mark);
  grid.addEventListener("blur", mark);
  new ResizeObserver(() => draw()).observe(grid);
}

/** Writes the fields into the address, so that it can be given to others. */
function remember() {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query())) if (value) params.set(name, value);
  history.replaceState(null, "", params.size ? `?${params}` : location.pathname);
}

let typing = 0;
/** A field has changed. */
function changed() {
  clearTimeout(typing);
  typing = setTimeout(() => {
    remember();
    filter();
  }, 120);
}

/** Follows the events of the run. */
function follow() {
  document.addEventListener("live:state", ({ detail }) => {
    if (detail.epoch !== epoch || detail.to > version) load();
  });
  document.addEventListener("live:delta", ({ detail }) => {
    if (loading) again = true; // the answer may be older
    if (detail.load || detail.epoch !== epoch || detail.from > version) {
      load();
      return;
    }
    if (detail.textsFrom > texts.length) {
      load();
      return;
    }
    take(detail);
    sorted = false;
    draw(true);
  });
  document.addEventListener("zone", () => draw(true));
  addEventListener("beforeprint", () => {
    printing = true;
    paint(); // at once: the page is printed behind this
  });
  addEventListener("afterprint", () => {
    printing = false;
    for (const r of pool) r.element.remove();
    pool = [];
    draw(true);
  });
  document.addEventListener("live:gone", () => {
    shownText.textContent = "The run does not exist any more: its history was purged.";
  });
  // What matches may have changed; sorting 10,000 targets on every update would be in the way.
  setInterval(() => {
    if (sorted || document.hidden) return;
    sorted = true;
    filter();
  }, 2000);
}

async function start() {
  build();
  follow();
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    changed();
  });
  bulk?.addEventListener("submit", choose);
  all?.addEventListener("change", () => {
    ticks.clear();
    lastTick = -1;
    showChosen();
    draw(true);
  });
  form.querySelector(".order").hidden = false;
  // An ended run begins with what failed. Rows of an active one would jump.
  if (document.getElementById("run-head").dataset.phase === "unsuccessful") form.querySelector("[data-order]").value = "state";
  form.querySelector("button[type=submit]").hidden = true;
  document.addEventListener("click", (event) => {
    const error = event.target.closest("a[data-error]"), clear = event.target.closest("a[data-clear]");
    if ((!error && !clear) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const field = form.elements.namedItem("error");
    if (clear) {
      for (const e of form.querySelectorAll("input, select:not([data-order])")) e.value = "";
    } else {
      field.value = field.value === error.dataset.error ? "" : error.dataset.error;
      section.scrollIntoView({ block: "start" });
    }
    changed();
  });
  await load();
  place.replaceChildren(grid);
  filter();
}

start();
