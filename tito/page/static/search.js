// The search box of every page. Pagefind looks in the index that `tito book build` makes; this asks it, and shows what it finds while one types.
const STOP = new Set(
  ("a about after am an and are as at be because but by can could did do does doing for from get give go had has have how i if in into is it its " +
    "just like make me mean means my of on or our same so some such than that the their them then there these they this to too use used using " +
    "very versus vs want was we were what when where which while who why will with would you your not no don dont doesn doesnt isn isnt cant t s").split(" ")
);
const ENOUGH = 3, SHOWN = 15, WORDS = 8, WINDOW = 30;
const SERVED = "The search works when the book is served: run `python -m http.server` in its folder, or `tito book serve` in the course.";

let loaded;
async function load() {
  const pagefind = await import(new URL(`${document.documentElement.dataset.root}pagefind/pagefind.js`, location));
  // A long section is as good as a short one; `also` are the synonyms of the terms that a section explains.
  await pagefind.options({ excerptLength: WINDOW, ranking: { pageLength: 0, metaWeights: { title: 5, also: 3 } } });
  return pagefind;
}

// The sections with all words of a question that mean something; if they are few, then those with one word less, and so on.
async function find(question) {
  loaded ??= load();
  const pagefind = await loaded.catch((error) => { loaded = undefined; throw error; }), found = new Map(); // a later word tries again
  const words = question.toLowerCase().replace(/difference between|\b(nn|torch|np|f)\./g, "").match(/[\p{L}\p{N}_.]+/gu) || [], meant = words.filter((word) => !STOP.has(word));
  let tries = [(meant.length ? meant : words).slice(0, WORDS)];
  while (tries.length && found.size < ENOUGH) {
    const each = await Promise.all(tries.map((some) => pagefind.search(some.join(" "))));
    const results = each.flatMap((one) => one.results).sort((a, b) => b.score - a.score);
    for (const one of results) if (!found.has(one.id)) found.set(one.id, one);
    const fewer = tries.flatMap((some) => some.map((left) => some.filter((word) => word !== left).join(" ")));
    tries = [...new Set(fewer)].filter(Boolean).map((some) => some.split(" "));
  }
  return Promise.all([...found.values()].slice(0, SHOWN).map((one) => one.data()));
}

// A section, which has the address of a page, as an item of the list. Its link leads to the first paragraph where many of the words stand.
function itemOf(page) {
  const near = ({ location: at }) =>
    page.weighted_locations.reduce((sum, one) => sum + (one.location >= at && one.location < at + WINDOW ? one.balanced_score : 0), 0);
  const most = Math.max(...page.weighted_locations.map(near));
  const at = page.weighted_locations.find((one) => near(one) >= most / 2)?.location ?? 0; // what explains comes first
  const part = page.sub_results.findLast((one) => (one.anchor?.location ?? 0) <= at) || page.sub_results[0];
  const place = page.anchors.findLast((one) => one.location <= at);
  const item = document.createElement("li"), within = part.title === page.meta.title ? page.meta.within : page.meta.title;
  item.innerHTML = `<a></a> <span></span><p>${part.excerpt}</p>`; // Pagefind escapes it, and marks the words
  Object.assign(item.children[0], { href: place ? `${page.url.split("#")[0]}#${place.id}` : page.url, textContent: part.title });
  item.children[1].textContent = within || "";
  return item;
}

for (const form of document.querySelectorAll("form.search")) {
  const field = form.elements.q, list = Object.assign(document.createElement("ol"), { className: "results" });
  const status = Object.assign(document.createElement("p"), { className: "search-status", role: "status" });
  form.after(status, list);
  const show = async () => {
    const asked = field.value, items = (asked.trim() ? await find(asked) : []).map(itemOf);
    if (asked !== field.value) return; // typed on meanwhile
    list.replaceChildren(...items);
    if (items.length) status.textContent = `${items.length} result${items.length > 1 ? "s" : ""}`;
    else status.textContent = asked.trim() && "No section has these words. Try the name of what you look for.";
  };
  if (location.protocol === "file:") status.textContent = SERVED;
  else field.addEventListener("input", () => show().catch((error) => (status.textContent = `The search does not work here: ${error.message}.`)));
  if (form.closest("dialog")) continue;
  field.value = new URLSearchParams(location.search).get("q") || "";
  field.focus();
  field.dispatchEvent(new Event("input"));
}
