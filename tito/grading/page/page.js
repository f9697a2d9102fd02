// Keys for the page. What has data-key="x" is followed, pressed or, if it is a field, entered by x; in a
// list, j and k go from row to row. In a submission, x goes from exercise to exercise that is not right, and p and c
// to the form of the exercise that one looks at. Every form works without this, too.
"use strict";

const FIELDS = "input:not([type=hidden]), textarea, select";
const judging = document.querySelector("form[data-judging]"); // on the page of an answer

// What had the focus last, apart from the comments that can be used again.
let last = document.querySelector("[data-here]") ?? document.body;
document.addEventListener("focusin", ({ target }) => {
  last = target.closest("#again, .said") ? last : target;
});

// Where the form is for what one looks at: the exercise that had the focus, the first that is not right on the
// screen, or the page, whose first form is the lesson's.
function lookedAt() {
  const wrong = [...document.querySelectorAll("article.wrong")];
  const shown = wrong.find((one) => one.getBoundingClientRect().bottom > 100 && one.checkVisibility());
  return last.closest("article") ?? ((!last.closest(".judge") && shown) || document);
}

function enter(field) {
  for (let one = field.closest("details"); one; one = one.parentElement.closest("details")) {
    one.open = true;
  }
  field.focus();
  field.scrollIntoView({ block: "nearest" });
}

function press(key) {
  const judge = lookedAt().querySelector(".judge");
  if (judge && (key === "p" || key === "c")) {
    enter(judge.querySelector(key === "p" ? "[name=points]" : "[name=text]"));
    return true;
  }
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (target) {
    if (target.matches(FIELDS)) {
      target.focus();
      target.scrollIntoView({ block: "center" });
    } else {
      target.click();
    }
    return true;
  }
  if (key === "x") {
    const wrong = [...document.querySelectorAll("article.wrong")];
    const here = wrong.indexOf(last.closest("article"));
    const next = wrong[(here + 1) % wrong.length];
    if (next) {
      enter(next.querySelector("details > *")); // opens it
      next.focus();
    }
    return wrong.length > 0;
  }
  const rows = [...document.querySelectorAll("a.row")];
  if ((key === "j" || key === "k") && rows.length) {
    const here = rows.indexOf(document.activeElement);
    const next = key === "j" ? here + 1 : here < 0 ? 0 : here - 1;
    rows[Math.min(Math.max(next, 0), rows.length - 1)].focus();
    return true;
  }
  if (key === "?") {
    const keys = document.getElementById("keys");
    keys.open = !keys.open;
    keys.querySelector("summary").focus();
    keys.scrollIntoView({ block: "nearest" });
    return true;
  }
  return false;
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest(FIELDS);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const form = field?.form ?? event.target.closest("form") ?? judging;
    event.preventDefault();
    form?.requestSubmit(form.querySelector(event.shiftKey ? "[name=then]" : "button"));
    return;
  }
  if (field) {
    if (event.key === "Escape") {
      field.blur();
    } else if (event.key === "Enter" && field.matches("input") && field.form === judging) {
      event.preventDefault(); // a judgement is sent by Ctrl+Enter only
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) {
    return;
  }
  if (press(event.key)) {
    event.preventDefault();
  }
});

// A form is sent once, however often its button is pressed, and only while the page's server answers:
// else the browser's words about that would take the place of what was typed.
const THIS_FILE = document.currentScript.src;

async function answers() {
  try {
    return (await fetch(THIS_FILE, { method: "HEAD", cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.sent === "now") {
    form.dataset.sent = "yes";
    return;
  }
  event.preventDefault();
  if (form.dataset.sent) {
    return;
  }
  form.dataset.sent = "asking";
  if (await answers()) {
    form.dataset.sent = "now";
    form.requestSubmit(event.submitter);
    return;
  }
  delete form.dataset.sent;
  document.querySelector(".gone")?.remove();
  const words = document.createElement("p");
  words.className = "alert gone";
  words.setAttribute("role", "alert");
  words.textContent =
    "Not sent: the program of this page does not answer. What you wrote is still here: copy it, start " +
    "`tito gradebook page` again, and open the address that it prints.";
  form.append(words);
});
window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
});

// A comment that was used before is written into the field of the exercise that one looks at; it is sent from there.
document.addEventListener("click", (event) => {
  const text = event.target.closest("[data-text]")?.dataset.text;
  if (text) {
    const field = lookedAt().querySelector(".judge [name=text]");
    field.value = [field.value, text].filter(Boolean).join("\n");
    enter(field);
  }
});

// What was done is told to those who hear the page: what has the focus is read.
document.querySelector(".said")?.focus();
