// What all pages share: the switch for light and dark, pages that renew themselves, small forms.
"use strict";

const pageCsrf = () => document.body.dataset.csrf;

async function post(address, data, options = {}) {
  const reply = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": pageCsrf() },
    body: JSON.stringify(data),
    ...options,
  });
  const said = await reply.json().catch(() => ({}));
  if (!reply.ok) {
    const error = new Error(said.error?.message ?? `The service answered ${reply.status}.`);
    error.status = reply.status;
    throw error;
  }
  return said;
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("headwater.theme", root.dataset.theme);
  } catch {
    // it holds for this page only
  }
}

// A page with data-refresh renews its content every so many seconds, unless somebody is busy in it.
function keepFresh(main) {
  const seconds = Number(main.dataset.refresh);
  setInterval(async () => {
    if (document.hidden || main.contains(document.activeElement) || main.querySelector("details[open]")) return;
    let reply;
    try {
      reply = await fetch(location.href, { headers: { Accept: "text/html" } });
    } catch {
      return; // the next time, perhaps
    }
    if (reply.redirected) location.assign(reply.url);
    if (!reply.ok) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("main");
    if (!fresh) return;
    showLocalTimes(fresh);
    main.replaceChildren(...fresh.childNodes);
  }, seconds * 1000);
}

// A search field with data-filters hides the rows of a table that do not contain what is typed.
function filterRows(field) {
  const rows = [...(document.getElementById(field.dataset.filters)?.tBodies[0]?.rows ?? [])];
  const wanted = field.value.toLowerCase().trim();
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
}

async function invite(event) {
  event.preventDefault();
  const form = event.target;
  const place = document.getElementById("invited");
  try {
    const { address } = await post(form.dataset.invite, { name: form.elements.name.value });
    const link = document.createElement("code");
    link.textContent = address;
    place.replaceChildren("Send this link; it is good for one login within ten minutes: ", link);
    form.reset();
  } catch (error) {
    place.textContent = error.message;
  }
}

// A number as people type it, with a decimal point or comma; null if it is none.
function typedNumber(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  return plain && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

// A button or form with data-send says which label counts of a question; `place` shows an error.
async function sendLabel({ send, question }, label, place) {
  try {
    await post(send, { question: Number(question), label });
    location.reload();
  } catch (error) {
    place.textContent = error.message;
  }
}

function sendNumber(event) {
  event.preventDefault();
  const form = event.target;
  const place = form.querySelector("[role=alert]");
  const number = typedNumber(form.elements.number.value);
  if (number === null) place.textContent = "That is not a number.";
  else sendLabel(form.dataset, number, place);
}

document.getElementById("theme").addEventListener("click", switchTheme);
for (const main of document.querySelectorAll("main[data-refresh]")) keepFresh(main);
for (const field of document.querySelectorAll("input[data-filters]")) {
  field.addEventListener("input", () => filterRows(field));
}
document.querySelector("form[data-invite]")?.addEventListener("submit", invite);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-send]");
  if (button) sendLabel(button.dataset, JSON.parse(button.dataset.label), button.parentElement);
});
document.querySelector("form[data-send]")?.addEventListener("submit", sendNumber);
