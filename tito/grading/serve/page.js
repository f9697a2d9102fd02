// Keys for the page. What has data-key="x" is followed, pressed or, if it is a field, entered by x; in a
// list, j and k go from row to row. Everything works without this, too.
"use strict";

const FIELDS = "input:not([type=hidden], [type=checkbox]), textarea, select";

function press(key) {
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
  if (field) {
    if (event.key === "Escape") {
      field.blur();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field.form) {
      event.preventDefault();
      field.form.requestSubmit();
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

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) {
    event.preventDefault();
  }
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
});

for (const waiting of document.querySelectorAll("[data-reload]")) {
  setTimeout(() => location.reload(), Number(waiting.dataset.reload));
}

// Where a check was chosen by its link, its points are what one wants to write.
if (location.hash === "#points") {
  document.getElementById("number")?.focus();
}
