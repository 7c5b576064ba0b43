// The base script of all pages: times and numbers as the viewer writes them, the switch of the
// theme, copying, and keys. Pages can be read without it.

/** Formats of the viewer's locale, in the viewer's zone or in UTC. Words stay English, as the pages are. */
const utcChosen = () => /(?:^|; )jobagent-zone=utc(?:;|$)/.test(document.cookie);
const formatOf = (utc) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", timeZone: utc ? "UTC" : undefined });
let instants = formatOf(utcChosen());
const ages = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/** The server's clock minus the browser's, in ms: ages are by the server's clock. */
const ahead = Number(document.body.dataset.now || Date.now()) - Date.now();

/** Returns the time of the server's clock, in ms since 1970. */
export function now() {
  return Date.now() + ahead;
}

/** Shows an instant in words: "3 min ago". ms is the difference to now. */
function age(ms) {
  const seconds = Math.round(ms / 1000), size = Math.abs(seconds);
  if (size < 60) return ages.format(seconds, "second");
  if (size < 3600) return ages.format(Math.trunc(seconds / 60), "minute");
  if (size < 36000) return seconds < 0 ? `${duration(size * 1000)} ago` : `in ${duration(size * 1000)}`;
  if (size < 86400) return ages.format(Math.trunc(seconds / 3600), "hour");
  return ages.format(Math.trunc(seconds / 86400), "day");
}

/** Formats a number; digits is the number of digits after the decimal sign, if it is fixed. */
export function number(value, digits) {
  const fixed = digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(undefined, fixed).format(value);
}

/** Formats an instant in the zone that the bar on top shows, always with its date: a picture of a page is read on another day. */
export function instant(date) {
  return instants.format(date);
}

/** Formats a duration in ms with two units at most, as the server does. */
export function duration(ms) {
  const unit = (value, name, digits = 0) => number(value, digits) + "\u00a0" + name;
  const two = (a, nameA, b, nameB) => unit(a, nameA) + (b ? " " + unit(b, nameB) : "");
  const s = Math.floor(ms / 1000);
  if (ms < 1000) return unit(Math.max(0, Math.floor(ms)), "ms");
  if (ms < 10000) return unit(Math.floor(ms / 100) / 10, "s", 1);
  if (s < 60) return unit(s, "s");
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

/** Shows in the viewer's zone and locale what the server has written in UTC and English. It is called for new elements too. */
export function localise(root = document) {
  for (const t of root.querySelectorAll("time[datetime]:not([data-duration])")) {
    const date = new Date(t.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const text = "relative" in t.dataset ? age(date - now()) : instant(date);
    if (t.textContent !== text) t.textContent = text;
    const utc = date.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
    const title = "relative" in t.dataset ? instants.format(date) + " · " + utc : utc;
    if (t.title !== title) t.title = title;
  }
  for (const t of root.querySelectorAll("time[data-duration]")) {
    const text = duration(Number(t.dataset.duration));
    if (t.textContent !== text) t.textContent = text;
  }
  for (const d of root.querySelectorAll("data[value]")) {
    const value = Number(d.value);
    if (Number.isNaN(value)) continue;
    const text = number(value, d.dataset.digits === undefined ? undefined : Number(d.dataset.digits));
    if (d.textContent !== text) d.textContent = text;
  }
  for (const b of root.querySelectorAll("button.copy[hidden]")) b.hidden = false;
}

/** Says something in the bar on top; an empty text removes it. */
export function news(text) {
  const place = document.getElementById("news");
  if (place && place.textContent !== text) place.textContent = text;
}

/** Loads the current page again, for pages about a database that is away. */
function retryLater() {
  const place = document.getElementById("retry");
  if (!place) return;
  place.hidden = false;
  setTimeout(() => location.reload(), Number(place.dataset.retry) * 1000);
}

/** Shows the actions that apply in the phase that a block names, and hides the others. */
function showActions(block) {
  const phase = block.dataset?.phase;
  if (phase === undefined) return;
  const words = phase.split(" ");
  for (const a of document.querySelectorAll(".actions [data-when]")) a.hidden = !words.includes(a.dataset.when);
}

// Theme: the choice is in a cookie, so that the server renders it before the first paint.
function switchTheme() {
  const dark = document.documentElement.dataset.theme ?
    document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = dark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `jobagent-theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

// Zone: the bar on top names the zone of all times, and switches between the viewer's and UTC.
function showZone() {
  const utc = utcChosen(), name = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  zone.textContent = utc ? "UTC" : name;
  zone.title = utc ? `Times are in UTC. Show them in ${name}.` : `Times are in ${name}. Show them in UTC.`;
  zone.setAttribute("aria-label", zone.title);
}
function switchZone() {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `jobagent-zone=${utcChosen() ? "local" : "utc"}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  instants = formatOf(utcChosen());
  showZone();
  localise();
  document.dispatchEvent(new CustomEvent("zone")); // for scripts that write times themselves
}

// Copying: data-copy names an element by id, or is "previous".
async function copy(button) {
  const source = button.dataset.copy === "previous" ? button.previousElementSibling : document.getElementById(button.dataset.copy);
  const label = button.querySelector("span") ?? button;
  const before = label.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    label.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    label.textContent = "Selected";
  }
  setTimeout(() => { label.textContent = before; }, 1500);
}

// Rows: j and k move through the rows of the tables, and through elements with data-row.
let current = null;
function rows() {
  return [...document.querySelectorAll("main tbody tr, main [data-row]")].filter((r) => r.offsetParent !== null);
}
function move(step) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(current);
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step))];
  current?.classList.remove("current");
  current = next;
  current.classList.add("current");
  (current.querySelector("a[href]") ?? current).focus({ preventScroll: true });
  current.scrollIntoView({ block: "nearest" });
}

// Keys. A script of a page that handles a key itself calls preventDefault.
let going = false;
const places = { o: "/", r: "/runs", j: "/jobs", d: "/databases", s: "/schedules", a: "/agents" };
function key(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
  if (event.key === "Escape") {
    if (event.target.closest?.("input, textarea, select")) event.target.blur();
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    return;
  }
  if (typing) return;
  if (going) {
    going = false;
    if (event.key === "/") {
      if (focusSearch(document.getElementById("everywhere"))) event.preventDefault();
      return;
    }
    const base = document.body.dataset.base;
    if (base && places[event.key]) location.assign(base + places[event.key]);
    return;
  }
  switch (event.key) {
    case "/": {
      const search = document.querySelector("main input[type=search]") ?? document.getElementById("everywhere");
      if (!focusSearch(search)) return;
      break;
    }
    case "j": move(1); break;
    case "k": move(-1); break;
    case "g": going = true; setTimeout(() => { going = false; }, 1500); break;
    case "?": help(); break;
    default: return;
  }
  event.preventDefault();
}
function focusSearch(field) {
  field?.focus();
  field?.select();
  return Boolean(field);
}
function help() {
  const dialog = document.getElementById("help");
  if (!dialog.open) dialog.showModal();
}

// The session: while the page is used, the server is told now and then, so that it does not end.
const pingEvery = 5 * 60 * 1000;
let used = false;
async function keepSession() {
  if (!used) return;
  used = false;
  try {
    const answer = await fetch(document.body.dataset.home + "session", { headers: { Accept: "application/json" } });
    if (answer.status === 401) sessionEnded();
  } catch { /* the front is away; the next time tells */ }
}

/** Says that the session has ended. */
export function sessionEnded() { news("You are signed out: load the page again to sign in."); }

document.addEventListener("keydown", key);
document.addEventListener("click", (event) => {
  used = true;
  const button = event.target.closest("button.copy");
  if (button) copy(button);
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
for (const name of ["keydown", "scroll", "pointermove"]) {
  document.addEventListener(name, () => { used = true; }, { passive: true, capture: true });
}
document.addEventListener("submit", (event) => {
  if (!("once" in event.target.dataset)) return;
  const button = event.target.querySelector("button[type=submit]");
  setTimeout(() => { button.disabled = true; }); // after the form was sent
});
addEventListener("pageshow", () => { // back to a form that was sent
  for (const button of document.querySelectorAll("form[data-once] button[type=submit]")) button.disabled = false;
});
const zone = document.getElementById("zone-button");
zone.hidden = false;
zone.addEventListener("click", switchZone);
showZone();
const theme = document.getElementById("theme-button");
theme.hidden = false;
theme.addEventListener("click", switchTheme);
const helpButton = document.getElementById("help-button");
helpButton.hidden = false;
helpButton.addEventListener("click", help);
localise();
document.addEventListener("live:updated", (event) => {
  localise(event.target);
  showActions(event.target);
});
setInterval(() => localise(), 15000); // ages
if ("signedIn" in document.body.dataset) setInterval(keepSession, pingEvery);
retryLater();
// On narrow screens the navigation scrolls sideways.
const side = document.querySelector(".side"), here = side?.querySelector("[aria-current]");
if (here) side.scrollLeft = here.offsetLeft - (side.clientWidth - here.offsetWidth) / 2;
