// The glossary: a field above the terms that leaves those with the typed words.
const glossary = document.querySelector("article section");
const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "Filter the terms" });
field.setAttribute("aria-label", "Filter the terms");
glossary.querySelector("section").before(field);
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/);
  for (const letter of glossary.querySelectorAll(":scope > section")) {
    for (const term of letter.querySelectorAll("dt")) {
      const text = `${term.textContent} ${term.nextElementSibling.textContent}`.toLowerCase();
      term.hidden = term.nextElementSibling.hidden = !words.every((word) => text.includes(word));
    }
    letter.hidden = !letter.querySelector("dt:not([hidden])");
  }
});
