// What every page does: light or dark, the contents on a phone, the search, copying code, and reaching with the keyboard what scrolls.
const root = document.documentElement;
const store = (name, value) => {
  try {
    return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value);
  } catch {
    return null; // no storage here
  }
};

const THEMES = ["auto", "light", "dark"];
const theme = document.querySelector("button.theme");
function showTheme(name) {
  root.dataset.theme = name === "auto" ? "" : name;
  theme.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[name];
  theme.setAttribute("aria-label", `Colours: ${theme.textContent}`);
  theme.value = name;
}
showTheme(THEMES.includes(store("theme")) ? store("theme") : "auto");
theme.hidden = false;
theme.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length];
  store("theme", next);
  showTheme(next);
});

const dialog = document.querySelector("dialog#search");
const search = () => {
  dialog.showModal();
  dialog.querySelector("input").select();
};
if (dialog) {
  document.querySelector("a.search").addEventListener("click", (event) => {
    event.preventDefault();
    search();
  });
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    search();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

// Code without the prompts of a session and what it printed.
function copied(pre) {
  const copy = pre.cloneNode(true);
  for (const part of copy.querySelectorAll(".gp, .go")) part.remove();
  return copy.textContent.replace(/\n+$/, "\n");
}
for (const pre of navigator.clipboard ? document.querySelectorAll(".highlight > pre") : []) {
  const button = Object.assign(document.createElement("button"), { textContent: "Copy", type: "button" });
  button.setAttribute("aria-label", "Copy this code");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(copied(pre));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  pre.after(button);
}

function reach() {
  for (const part of document.querySelectorAll("article :is(pre, .table, .math)")) {
    if (part.scrollWidth > part.clientWidth + 1 && part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
reach();
addEventListener("resize", reach);
addEventListener("toggle", reach, true); // what was folded
document.fonts.addEventListener("loadingdone", reach); // letters of another font have other widths
