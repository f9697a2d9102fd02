// Sets the mathematics of a page. Runs after katex.min.js, which stands before it with `defer`.
for (const element of document.querySelectorAll(".math")) {
  katex.render(element.textContent, element, { displayMode: element.classList.contains("display"), throwOnError: false });
}
