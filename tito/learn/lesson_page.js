// Loads the page again, at the same place, when tito has written a newer one beside it.
const shown = document.body.dataset.version;
const place = `place of ${location.pathname}`;

function folds() {
  return [...document.querySelectorAll(".cell")].flatMap((cell) =>
    [...cell.querySelectorAll("details")].map((fold, n) => [`${cell.id} ${n}`, fold]));
}

function newest(version) {
  if (version === shown) return;
  const cells = [...document.querySelectorAll(".cell")];
  const cell = cells.find((cell) => cell.getBoundingClientRect().bottom > 0) ?? cells.at(-1);
  const open = folds().filter(([, fold]) => fold.open).map(([name]) => name);
  const top = cell.getBoundingClientRect().top;
  sessionStorage.setItem(place, JSON.stringify({ cell: cell.id, top, open }));
  location.reload();
}

function look() {
  const script = document.createElement("script");
  script.src = `version.js?${Date.now()}`;
  script.onload = script.onerror = () => script.remove();
  document.head.append(script);
}

const saved = JSON.parse(sessionStorage.getItem(place));
sessionStorage.removeItem(place);
if (saved) {
  for (const [name, fold] of folds()) if (saved.open.includes(name)) fold.open = true;
  const cell = document.getElementById(saved.cell);
  if (cell) scrollBy(0, cell.getBoundingClientRect().top - saved.top);
}
setInterval(look, 1000);
