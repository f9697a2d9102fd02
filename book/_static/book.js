// Sets the mathematics of a page. Runs after katex.min.js, which stands before it with `defer`.
const formulas = document.querySelectorAll(".math");
for (const element of formulas) {
  katex.render(element.textContent, element, { displayMode: element.classList.contains("display"), throwOnError: false });
}

// A formula that is wider than its place is scrolled with the keyboard, too.
function reach() {
  for (const element of formulas) element.toggleAttribute("tabindex", false);
  for (const element of formulas) if (element.scrollWidth > element.clientWidth && element.clientWidth) element.tabIndex = 0;
}
reach();
addEventListener("resize", reach);
document.fonts.addEventListener("loadingdone", reach); // letters of another font have other widths
