// Keys, and the lists of an export. Text is never made into HTML here: rows of an export are cloned as they stand.
"use strict";

const rows = () => [...document.querySelectorAll("ol.talks a.row")];
let afterG = false;

function byKey(key) {
  const named = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key && !one.disabled);
  if (!named) return false;
  if (named.matches("input")) named.focus();
  else named.click();
  return true;
}

function step(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (next) next.focus();
  return Boolean(next);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const pages = [...document.querySelectorAll("header.site nav a")];
  if (afterG && pages[event.key - 1]) {
    afterG = false;
    pages[event.key - 1].click();
    return event.preventDefault();
  }
  afterG = event.key === "g";
  const moves = { j: 1, k: -1 };
  if (byKey(event.key) || (event.key in moves && step(moves[event.key]))) event.preventDefault();
  else if (event.key === "u") document.querySelector("[aria-current=page]")?.click();
});

// Filters would fill a narrow screen: there they are folded, and the line that opens them says what is chosen.
const narrow = window.matchMedia("(max-width: 720px)"), folds = document.querySelectorAll("details.fold");
const fold = () => folds.forEach((one) => { one.open = !narrow.matches; });
const sayChosen = () => folds.forEach((one) => {
  const chosen = [...one.querySelectorAll("select")].filter((select) => select.value);
  const words = chosen.map((select) => select.selectedOptions[0].text.replace(/ \([\d,]+\)$/, ""));
  one.querySelector("summary span").textContent = words.length ? `: ${words.join(", ")}` : "";
});
narrow.addEventListener("change", fold);
fold();
sayChosen();

// A filter that is chosen is shown at once; without scripts the button does it. Who chooses by keys goes on from there.
const CHOSEN = "maieutic-chosen-filter";
let chosenByKey = false;
document.addEventListener("keydown", () => { chosenByKey = true; }, true);
document.addEventListener("pointerdown", () => { chosenByKey = false; }, true);
const kept = (change) => { try { return change(sessionStorage); } catch { return null; } }; // it may be blocked
document.querySelectorAll("form.filters:not([data-offline])").forEach((form) => {
  const last = form.elements[kept((storage) => storage.getItem(CHOSEN)) ?? ""];
  if (last instanceof HTMLSelectElement) {
    last.closest("details.fold")?.setAttribute("open", "");
    last.focus();
  }
  kept((storage) => storage.removeItem(CHOSEN));
  form.addEventListener("change", (event) => {
    if (!event.target.matches("select")) return;
    if (chosenByKey) kept((storage) => storage.setItem(CHOSEN, event.target.name));
    form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    form.querySelectorAll("select, input").forEach((one) => { one.disabled = one.value === ""; });
  });
});
// Who comes back finds them enabled.
window.addEventListener("pageshow", () => document.querySelectorAll("form.filters :disabled").forEach((one) => { one.disabled = false; }));

const offline = document.querySelector("form[data-offline]");
if (offline) {
  const PAGE = 50;
  const all = [...document.getElementById("rows").content.querySelectorAll("li")];
  const lists = new Set(["act", "violation"]);
  const shown = document.getElementById("talks"), total = document.getElementById("total");
  const earlier = document.getElementById("earlier"), later = document.getElementById("later");
  let page = 0, found = all;

  const fits = (row, filters, words) =>
    filters.every(([name, value]) => lists.has(name) ? row.dataset[name].split(" ").includes(value) : row.dataset[name] === value)
    && words.every((word) => row.textContent.toLowerCase().includes(word));

  function draw() {
    const last = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), last - 1);
    shown.replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => row.cloneNode(true)));
    total.textContent = found.length.toLocaleString("en");
    document.getElementById("where").textContent = `page ${page + 1} of ${last}`;
    earlier.disabled = page === 0;
    later.disabled = page === last - 1;
  }
  const sorted = (filters) => {
    const these = new URLSearchParams(filters);
    these.sort();
    return these.toString();
  };
  function filter() {
    const asked = [...new FormData(offline)].filter(([, value]) => value);
    const words = asked.filter(([name]) => name === "q").flatMap(([, text]) => (text.toLowerCase().match(/"[^"]+"|[^\s"]+/g) ?? []).map((word) => word.replaceAll('"', "")));
    const filters = asked.filter(([name]) => name !== "q");
    found = all.filter((row) => fits(row, filters, words));
    const now = sorted(asked);
    document.querySelectorAll(".finds a").forEach((one) => {
      one.ariaCurrent = sorted(one.hash.slice(1)) === now ? "true" : null;
    });
    page = 0;
    draw();
    sayChosen();
  }
  function fromAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const field of offline.elements) if (field.name) field.value = asked.get(field.name) ?? "";
    filter();
  }
  function toAddress(event) {
    event.preventDefault();
    const asked = [...new FormData(offline)].filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(asked)}`);
    filter();
  }
  offline.addEventListener("change", toAddress);
  offline.addEventListener("submit", toAddress);
  document.querySelector(".clear").addEventListener("click", (event) => {
    event.preventDefault();
    history.replaceState(null, "", "#");
    fromAddress();
  });
  earlier.addEventListener("click", () => { page -= 1; draw(); });
  later.addEventListener("click", () => { page += 1; draw(); });
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
}
