// Loads the page again, at the same place, when tito has written a newer one beside it.
const shown = document.body.dataset.version;
const key = `place of ${location.pathname}`;

// A fold is known by the part of the page that it is in, and its title.
function folds() {
  const counts = {};
  return [...document.querySelectorAll("article details")].map((fold) => {
    const inside = fold.parentElement.closest("[id]")?.id ?? "";
    const name = `${inside} ${fold.querySelector("summary").textContent}`;
    counts[name] = (counts[name] ?? 0) + 1;
    return [`${name} ${counts[name]}`, fold];
  });
}

function newest(version) {
  if (version === shown) return;
  const places = [...document.querySelectorAll("article :is(.exercise, .place, section)[id]")];
  const place = places.find((one) => one.getBoundingClientRect().top > -2) ?? places.at(-1);
  const open = folds().filter(([, fold]) => fold.open).map(([name]) => name);
  const top = place.getBoundingClientRect().top;
  sessionStorage.setItem(key, JSON.stringify({ place: place.id, top, open }));
  location.reload();
}

function look() {
  const script = document.createElement("script");
  script.src = `version.js?${Date.now()}`;
  script.onload = script.onerror = () => script.remove();
  document.head.append(script);
}

const saved = JSON.parse(sessionStorage.getItem(key));
sessionStorage.removeItem(key);
if (saved) {
  for (const [name, fold] of folds()) if (saved.open.includes(name)) fold.open = true;
  const place = document.getElementById(saved.place);
  const back = () => place && scrollBy(0, place.getBoundingClientRect().top - saved.top);
  back();
  document.fonts.ready.then(back); // letters of another font have other widths
}
setInterval(look, 1000);
