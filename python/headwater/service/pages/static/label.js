// Labelling: one card, one decision, one key. The next cards are here before the answer leaves.
"use strict";

const AHEAD = 5; // cards in hand, the one on the screen included
const RENEW = 30; // seconds between two requests that keep the cards in hand
const MANY = 9; // with more classes than keys one types
const LIT = 160; // milliseconds for which the button that was taken is lit
const COARSE = matchMedia("(hover: none) and (pointer: coarse)"); // a phone, whose keyboard would hide the card

const main = document.getElementById("main");
const part = (id) => document.getElementById(id);
const [stage, act, answers, field, filter] = ["stage", "act", "answers", "filter-field", "filter"].map(part);
const [numberField, numberInput] = ["number-field", "number"].map(part);

const cards = []; // in hand; the first is on the screen
let classes = []; // of a learner with several: those that it knows, and those that were named here
const past = []; // acts of this visit, newest last, each with its card
let chosen = -1; // of the buttons, by the arrow keys
let guessSeen = false;
let naming = false; // a new class is being typed
let confirming = ""; // the new class that one more Enter creates
let fetching = false;
let lastTouched = Date.now();

const outbox = new Outbox(main.dataset.acts, `headwater.outbox.${main.dataset.stream}.${main.dataset.person}`, {
  done: acted,
  failed: showConnection,
  counted: (unsent) => { main.dataset.unsent = unsent; },
  extra: () => ({ have: cards.map((card) => card.question), wanted: AHEAD }),
});

// Cards

function take(said) {
  const gone = new Set(said.gone ?? []);
  const first = cards[0];
  for (let i = cards.length - 1; i >= 0; i--) if (gone.has(cards[i].question)) cards.splice(i, 1);
  if (first && cards[0] !== first) say("The card before was answered by somebody else, or lay here too long.");
  const leaving = new Set(outbox.acts.map((one) => one.question));
  for (const card of said.cards) {
    if (!leaving.has(card.question) && !cards.some((one) => one.question === card.question)) cards.push(card);
  }
  const changed = takeClasses(said.classes ?? []);
  part("left").textContent = said.left;
  part("left").toggleAttribute("data-low", said.low);
  emptyText = said.empty;
  if (cards[0] !== first || !cards.length) show();
  else if (changed && !filter.value && !naming) showAnswers(cards[0]);
}

// The model knows a class once it has learned an answer; one that was named here is there at once.
function takeClasses(known) {
  const before = classes.length;
  const named = classes.filter((one) => one.named && !known.some((other) => other.name === one.name));
  classes = [...known, ...named];
  return classes.length !== before;
}

function nameClass(name) {
  const taken = new Set(classes.map((one) => one.key));
  const key = [..."123456789"].find((digit) => !taken.has(digit)) ?? "";
  classes.push({ label: name, name, key, named: true });
}

const classesOf = (card) => (card.several ? classes : card.classes);

let emptyText = "";

async function fetchCards() {
  if (fetching || outbox.waiting) return;
  fetching = true;
  try {
    take(await post(main.dataset.cards, { have: cards.map((card) => card.question), wanted: AHEAD }));
    showConnection(null);
  } catch (error) {
    showConnection(error);
  } finally {
    fetching = false;
  }
}

function show() {
  const card = cards[0];
  guessSeen = false;
  stopNaming();
  act.hidden = !card;
  if (!card) {
    part("why").textContent = "";
    const empty = part("nothing").content.cloneNode(true);
    empty.querySelector("[data-text]").textContent = emptyText;
    stage.replaceChildren(empty);
    return;
  }
  part("why").textContent = card.why;
  stage.innerHTML = card.html; // made and escaped by the service
  showLocalTimes(stage);
  stage.firstElementChild.classList.add("come");
  showAnswers(card);
}

function showAnswers(card) {
  numberField.hidden = !card.number;
  answers.hidden = card.number;
  if (card.number) {
    numberInput.value = "";
    if (!COARSE.matches) numberInput.focus({ preventScroll: true });
    return;
  }
  const known = classesOf(card);
  const many = known.length > MANY || naming || (card.several && !known.length);
  filter.placeholder = known.length ? "Type to find a class, Enter to choose it" : "Type the first class, then Enter";
  field.hidden = !many;
  answers.classList.toggle("many", many);
  document.querySelector('[data-act="class"]').hidden = !card.several || many;
  const keys = many ? { unsure: "Alt U", bad: "Alt B", guess: "Alt G" } : { unsure: "U", bad: "B", guess: "G" };
  for (const [name, key] of Object.entries(keys)) document.querySelector(`[data-act="${name}"] kbd`).textContent = key;
  const typed = filter.value.trim().toLowerCase();
  const fitting = known.filter((one) => !many || one.name.toLowerCase().includes(typed));
  fitting.sort((a, b) => many && typed ? b.name.toLowerCase().startsWith(typed) - a.name.toLowerCase().startsWith(typed) : 0);
  chosen = many && typed && fitting.length ? 0 : -1;
  answers.replaceChildren(...fitting.map((one, i) => answerButton(one, many ? "" : one.key, i === chosen)));
  if (many && card.several && typed && !known.some((one) => one.name.toLowerCase() === typed)) {
    const button = answerButton({ name: filter.value.trim(), fresh: true }, "", !fitting.length);
    button.prepend(confirming ? "Enter again: new class" : "New class");
    button.classList.add("fresh");
    answers.append(button);
    if (!fitting.length) chosen = 0;
  }
  if (many && (naming || !COARSE.matches)) filter.focus();
}

function answerButton(one, key, first) {
  const button = document.createElement("button");
  button.type = "button";
  button.one = one;
  button.classList.toggle("first", first);
  const name = document.createElement("bdi");
  name.textContent = one.name;
  if (key) {
    const cap = document.createElement("kbd");
    cap.textContent = key.toUpperCase();
    button.append(cap);
    button.setAttribute("aria-keyshortcuts", key);
  }
  button.append(name);
  button.addEventListener("click", () => choose(one));
  return button;
}

// Acts

// Which key was taken is seen on the next card, whose button of the same class lights up.
function flash(name) {
  const button = [...answers.children].find((shown) => shown.one.name === name);
  button?.classList.add("pressed");
  setTimeout(() => button?.classList.remove("pressed"), LIT);
}

function choose(one) {
  if (one.fresh) {
    if (confirming !== one.name && classes.length) {
      confirming = one.name;
      say(`“${one.name}” is not a class yet; Enter again makes it one.`);
      showAnswers(cards[0]);
      return;
    }
    nameClass(one.name);
    perform({ act: "answer", label: one.name, fresh: true }, one.name);
  } else {
    perform({ act: "answer", label: one.label }, one.name);
  }
}

function giveNumber() {
  const number = typedNumber(numberInput.value);
  if (number === null) say(numberInput.value.trim() ? `“${numberInput.value.trim()}” is not a number.` : "Type the number first.");
  else perform({ act: "answer", label: number }, String(number));
}

function perform(what, name) {
  const card = cards.shift();
  if (!card) return;
  const given = { ...what, question: card.question, ...(guessSeen ? { seen: true } : {}) };
  const moved = document.activeElement?.closest?.("#answers, .others");
  past.push({ card, question: card.question });
  say(name === undefined ? "" : `${name} …`);
  show();
  if (cards.length) flash(name);
  if (moved && cards.length) stage.focus();
  outbox.add(given);
}

function undo() {
  const back = outbox.takeBack();
  if (back && back.act !== "undo") {
    const last = past.pop();
    if (last) cards.unshift(last.card);
    show();
    say("Taken back before it was sent.");
    if (!last) fetchCards();
    return;
  }
  if (back) outbox.add({ act: "undo", question: back.question });
  const last = past.pop();
  if (last) {
    cards.unshift(last.card);
    show();
  }
  outbox.add({ act: "undo", question: last?.question ?? null });
  say("Taking it back …");
}

function showGuess() {
  const place = stage.querySelector(".guess");
  if (!place || !cards.length) return;
  place.textContent = cards[0].guess;
  place.hidden = false;
  guessSeen = true;
}

function acted(said, acts) {
  const first = cards[0];
  take(said);
  for (const [i, one] of said.done.entries()) {
    if (acts[i].act === "undo") bringBack(one);
  }
  if (cards[0] !== first) show();
  const last = said.done.at(-1);
  if (last && !outbox.waiting) say(last.text);
}

// The card of an act that was taken back comes first; of one that could not be, it goes.
function bringBack({ ok, question }) {
  const i = cards.findIndex((card) => card.question === question);
  if (i < 0) return;
  const [card] = cards.splice(i, 1);
  if (ok) cards.unshift(card);
}

// What is said

function say(text) {
  part("said").textContent = text;
}

// Of an error, or of null: all is well again.
function showConnection(error) {
  const place = part("waiting");
  const kept = outbox.waiting;
  if (error?.status === 401) {
    const link = document.createElement("a");
    link.href = `/login?next=${encodeURIComponent(location.pathname)}`;
    link.textContent = "log in again";
    place.replaceChildren(kept ? `${kept} kept here until you ` : "The session has ended: ", link);
  } else if (error) {
    place.textContent = error.status
      ? error.message
      : kept
        ? `No connection: ${kept} ${kept === 1 ? "answer is" : "answers are"} kept here and sent later`
        : "No connection";
  } else {
    place.textContent = "";
  }
}

function stopNaming() {
  naming = false;
  confirming = "";
  filter.value = "";
}

// Keys

const ACTS = {
  skip: () => perform({ act: "skip" }),
  unsure: () => perform({ act: "unsure" }),
  bad: () => perform({ act: "bad" }),
  guess: showGuess,
  undo,
  help: () => part("keys").showModal(),
  class: () => {
    naming = true;
    showAnswers(cards[0]);
  },
};

function pick(step) {
  const buttons = [...answers.children];
  if (!buttons.length) return;
  chosen = (chosen + step + buttons.length) % buttons.length;
  buttons.forEach((button, i) => button.classList.toggle("first", i === chosen));
}

// Keys of a card that asks for a number: those of numbers go into the field, the others act as always.
function pressedAtNumber(event) {
  const inField = event.target === numberInput;
  if (event.altKey || !cards.length || event.target.closest?.("button, a")) return false;
  if (event.key === "Enter") {
    event.preventDefault();
    giveNumber();
    return true;
  }
  if (/^[0-9.,+\-−e]$/i.test(event.key)) {
    if (!inField) numberInput.focus();
    return true;
  }
  return inField && numberInput.value !== "" && !/^[ubg?]$/i.test(event.key);
}

function pressed(event) {
  lastTouched = Date.now();
  if (event.ctrlKey || event.metaKey || event.repeat || part("keys").open) return;
  if (!numberField.hidden && pressedAtNumber(event)) return;
  const typing = event.target === filter;
  if (event.target.closest?.(".inside") && event.key.startsWith("Arrow")) return; // it scrolls
  const onButton = event.target.closest?.("button, a, input:not(#filter, #number)");
  const key = event.key;
  const does = (run) => {
    event.preventDefault();
    run();
  };
  if (key === "Backspace" && !(typing && filter.value)) return does(undo);
  if (!cards.length) return;
  if (event.altKey) {
    const name = { u: "unsure", b: "bad", g: "guess" }[event.code?.slice(3).toLowerCase()];
    return name ? does(ACTS[name]) : undefined;
  }
  if (key === "Enter" && !(onButton && !typing)) {
    return does(() => {
      const button = answers.children[chosen];
      if (button) choose(button.one);
      else say("Press the key on a button, or choose one by the arrow keys.");
    });
  }
  if (key === "Escape" && naming) return does(() => { stopNaming(); showAnswers(cards[0]); });
  if (key === " " && !(typing && filter.value) && !onButton) return does(ACTS.skip);
  if (typing) {
    if (key === "ArrowDown") return does(() => pick(1));
    if (key === "ArrowUp") return does(() => pick(-1));
    return;
  }
  if (key === "ArrowRight" || key === "ArrowDown") return does(() => pick(1));
  if (key === "ArrowLeft" || key === "ArrowUp") return does(() => pick(-1));
  const button = [...answers.children].find((one) => one.one.key === key.toLowerCase());
  if (button && field.hidden) return does(() => choose(button.one));
  const name = { u: "unsure", b: "bad", g: "guess", n: "class", "?": "help" }[key.toLowerCase()];
  if (name && field.hidden && !document.querySelector(`[data-act="${name}"]`).hidden) does(ACTS[name]);
}

document.addEventListener("keydown", pressed);
document.addEventListener("pointerdown", () => { lastTouched = Date.now(); });
document.querySelector(".others").addEventListener("click", (event) => {
  const name = event.target.closest("button")?.dataset.act;
  if (name) ACTS[name]();
});
part("give").addEventListener("click", giveNumber);
filter.addEventListener("input", () => {
  confirming = "";
  if (cards.length) showAnswers(cards[0]);
});

// Cards that were only fetched ahead go back at once when the page is left.
addEventListener("pagehide", () => {
  const ahead = cards.slice(1).map((card) => ({ act: "release", question: card.question, key: "" }));
  if (ahead.length) post(main.dataset.acts, { acts: ahead, have: [], wanted: 0 }, { keepalive: true }).catch(() => {});
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) fetchCards(); });
setInterval(() => {
  const away = Date.now() - lastTouched > 4 * RENEW * 1000;
  if (!document.hidden && cards.length && !away) fetchCards();
}, RENEW * 1000);
setInterval(() => { if (!document.hidden && !cards.length) fetchCards(); }, 1000);

outbox.send();
fetchCards();
