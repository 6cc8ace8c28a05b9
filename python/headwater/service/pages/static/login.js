// Logging in: by the code of an invitation, which stands behind the # of the address, or by a token.
"use strict";

const form = document.getElementById("login");
const wrong = document.getElementById("wrong");

async function logIn(proof) {
  wrong.hidden = true;
  try {
    await post(form.dataset.session, proof);
    location.replace(form.dataset.next);
  } catch (error) {
    wrong.textContent = error.message;
    wrong.hidden = false;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn({ token: form.elements.token.value.trim() });
});

const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname + location.search); // it is good only once
  logIn({ code });
}
