// Receives the server-sent events of a page and keeps the page up to date.
//
// The layout names the topic: <body data-base="/ui/main" data-topic="overview">. Each event becomes
// a DOM event "live:NAME" on the document whose detail is the event's data, so scripts of sets only
// listen: document.addEventListener("live:delta", e => …). The event "fragment" is handled here:
// the element with its id becomes what the server rendered. After that, "live:updated" is
// dispatched on the element.
//
// A banner says why there is no news: the session has ended, the server does not answer, or it
// answers and cannot read the control database. A hidden page closes its stream after a minute, and
// opens it again when it is shown.

import { instant } from "../web/base.js";

const quiet = 9_000; // ms without any event; the server sends one at least every 4 s
const hiddenTime = 60_000; // ms
const names = ["fragment", "stale", "fresh", "beat", "end", "delta", "state", "gone"];

let source = null; // the EventSource
let url = "";
let last = 0; // performance.now() of the last event; 0: none yet
let watch = 0; // timer: no event for too long
let again = 0; // timer: connect again
let failures = 0;
let hidden = 0; // timer: close while hidden
let ended = false;
let databaseAway = false; // the stream works, but the front cannot read the database
let staleSince = 0; // Date.now() of the last news; 0: there is news

/** Opens the stream; closes the one before. */
function open() {
  clearTimeout(again);
  source?.close();
  if (ended) return;
  source = new EventSource(url);
  listen(performance.now());
  for (const name of names) source.addEventListener(name, receive);
  source.onerror = failed;
}

/** Expects the next event: a server that is stalled keeps its connections and sends nothing. */
function listen(since) {
  clearTimeout(watch);
  watch = setTimeout(() => noAnswer(Date.now() - (performance.now() - since)), quiet);
}

/** Whether the session has ended: after a restart of the server, for example. */
async function signedOut() {
  try {
    const answer = await fetch(document.body.dataset.home + "session", { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(quiet) });
    return answer.status === 401;
  } catch {
    return false; // the server does not answer, which says nothing
  }
}

/** Says that the session has ended, with a link to sign in. */
function endSession() {
  ended = true;
  source?.close();
  clearTimeout(watch);
  clearTimeout(again);
  say("You are signed out.", location.href, "Sign in");
}

/** The stream broke. Browsers reconnect by themselves, but not after an answer such as 401 or 503. */
async function failed() {
  const broken = source;
  noAnswer(last ? Date.now() - (performance.now() - last) : Date.now());
  if (broken.readyState !== EventSource.CLOSED) return;
  if (await signedOut()) {
    endSession();
    return;
  }
  if (source !== broken) return; // opened again meanwhile
  failures++;
  again = setTimeout(open, Math.min(60_000, 2000 * 2 ** Math.min(failures, 5)) * (0.75 + Math.random() / 2));
}

/** Handles an event of the stream. */
function receive(event) {
  last = performance.now();
  failures = 0;
  listen(last);
  const data = JSON.parse(event.data || "{}");
  switch (event.type) {
    case "fragment":
      swap(data.id, data.html);
      break;
    case "stale":
      databaseAway = true;
      noNews(Date.now() - (data.age ?? 0), data.age === undefined);
      break;
    case "fresh":
      databaseAway = false;
      news();
      break;
    case "end":
      source.close();
      if (data.reason === "session") {
        endSession();
      } else {
        clearTimeout(watch);
        noAnswer(Date.now());
        again = setTimeout(open, 1000 + 4000 * Math.random()); // the front stops; another one may answer
      }
      return;
    default:
      if (staleSince && !databaseAway) news();
  }
  document.dispatchEvent(new CustomEvent("live:" + event.type, { detail: data }));
}

/** Shows since when the control database gives no news. never: nothing was ever read. */
function noNews(since, never = false) {
  stale(since, (time) => never ? "The control database cannot be read now." : `The control database cannot be read; no news since ${time}.`);
}

/** Shows since when the server does not answer. */
function noAnswer(since) {
  stale(since, (time) => `The server does not answer since ${time}.`);
}

/** Shows a text about the instant since which the page is old. */
function stale(since, text) {
  if (ended) return;
  if (!staleSince) staleSince = since;
  say(text(instant(new Date(staleSince))));
}

/** There is news again. */
function news() {
  staleSince = 0;
  document.getElementById("news").replaceChildren();
  document.documentElement.classList.remove("stale");
}

/** Shows a text in the banner, the layout's #news, with a link if href is given. */
function say(text, href, label) {
  const place = document.getElementById("news");
  document.documentElement.classList.add("stale");
  if (place.firstChild?.nodeValue === text) return; // screen readers would read it again
  place.replaceChildren(text);
  if (href) {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = label;
    place.append(" ", link);
  }
}

/** Replaces the element with an id by what the server rendered. */
export function swap(id, html) {
  const old = document.getElementById(id);
  if (!old) return;
  // The server's templates have made the text; its scripts would not run (Content-Security-Policy).
  const fresh = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
  if (!fresh || fresh.id !== id) return;
  morph(old, fresh);
  old.dispatchEvent(new CustomEvent("live:updated", { bubbles: true }));
}

/** Changes old into fresh. Elements that stay keep the focus, their scroll position and selection. */
function morph(old, fresh) {
  for (const { name } of [...old.attributes]) {
    // What the person opened stays open.
    if (!fresh.hasAttribute(name) && !(name === "open" && old.localName === "details")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.matches("input, select, textarea") && old === document.activeElement) return;
  children(old, fresh);
}

/** Changes the children of old into those of fresh. Children with an id or data-key are moved. */
function children(old, fresh) {
  const keyed = new Map();
  for (const c of old.children) if (key(c)) keyed.set(key(c), c);
  let at = old.firstChild;
  for (const f of [...fresh.childNodes]) {
    let match = null;
    if (f.nodeType === Node.ELEMENT_NODE && key(f)) match = keyed.get(key(f)) ?? null;
    else if (at && at.nodeType === f.nodeType && at.nodeName === f.nodeName && !key(at)) match = at;
    if (!match || match.nodeName !== f.nodeName) {
      old.insertBefore(document.importNode(f, true), at);
      continue;
    }
    if (match !== at) old.insertBefore(match, at);
    else at = at.nextSibling;
    if (f.nodeType === Node.ELEMENT_NODE) morph(match, f);
    else if (match.nodeValue !== f.nodeValue) match.nodeValue = f.nodeValue;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Returns what identifies an element among its siblings. */
function key(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "";
}

/** Begins when all modules of the page listen. */
function start() {
  const { base, topic } = document.body.dataset;
  if (!base || !topic) return;
  url = `${base}/events?topic=${encodeURIComponent(topic)}`;
  open();
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) {
      hidden = setTimeout(() => {
        source?.close();
        source = null;
        clearTimeout(watch);
        clearTimeout(again);
      }, hiddenTime);
    } else if (!source) {
      open();
    }
  });
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (e) => e.persisted && open());
}

if (document.readyState === "complete") start();
else document.addEventListener("DOMContentLoaded", start);
