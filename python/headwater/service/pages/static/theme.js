// Light or dark, as chosen; set before the page is drawn. Without a choice the system's counts.
"use strict";

function chosenTheme() {
  try {
    return localStorage.getItem("headwater.theme");
  } catch {
    return null; // storage is switched off
  }
}

if (chosenTheme()) document.documentElement.dataset.theme = chosenTheme();
