// Times of day in the viewer's own zone. The service writes them in its zone, for pages without scripts.
"use strict";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

// A date written as a form says: %Y, %m, %d, %b, %H, %M and %S, as in Python.
function written(date, form) {
  const two = (number) => String(number).padStart(2, "0");
  const parts = {
    Y: date.getFullYear(),
    m: two(date.getMonth() + 1),
    d: two(date.getDate()),
    b: MONTHS[date.getMonth()],
    H: two(date.getHours()),
    M: two(date.getMinutes()),
    S: two(date.getSeconds()),
  };
  return form.replace(/%([YmdbHMS])/g, (_, letter) => parts[letter]);
}

// Of an element with data-at, seconds since 1970; without a form the date is left out if it is today's.
function localTime(place) {
  const date = new Date(Number(place.dataset.at) * 1000);
  const now = new Date(Number(place.dataset.now) * 1000); // invalid if it is not said
  const today = date.toDateString() === now.toDateString();
  place.textContent = written(date, place.dataset.form ?? (today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S"));
  if (place.localName === "time") place.title = ZONE;
}

function showLocalTimes(root) {
  for (const place of root.querySelectorAll("[data-at]")) localTime(place);
}

showLocalTimes(document);
