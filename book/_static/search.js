// The search page. BOOK (sections.js) holds the sections of the book, and synonyms, each with the section it leads to.
// A section is worth more the rarer the words are that it shares with the question, and where they stand: title, prose, code.
const STOP = new Set(
  ("a about after am an and are as at be because but by can could did do does doing for from get give go had has have how i if in into is it its " +
    "just like make me mean means my of on or our same so some such than that the their them then there these they this to too use used using " +
    "very want was we were what when where which while who why will with would you your not no don dont doesn doesnt isn isnt cant t s " +
    "anything something everything nothing").split(" ")
);
const SHOWN = 20, PER_PAGE = 3, LEAST = 0.08, EXCERPT = 230; // LEAST: of the best one's score

const SHORT = new Map([["grad", "gradient"], ["grads", "gradient"], ["val", "validation"], ["backprop", "backpropagation"], ["init", "initialization"], ["params", "parameter"], ["acc", "accuracy"]]);

// A word without its ending: "broadcasting" and "broadcasts" are looked up alike.
function stem(word) {
  word = SHORT.get(word) || word;
  if (word.length > 4 && !word.includes("_")) {
    word = word.replace(/(?:ization|izing|ized|izes|ize)$/, "iz").replace(/ies$/, "y").replace(/(?:ings?|ed)$/, "").replace(/([b-df-hj-np-rtv-z])\1$/, "$1");
    word = word.replace(/(?<=ch|sh|x|ss)es$/, "").replace(/(?<!s)s$/, "");
  }
  return word.length > 4 ? word.replace(/(?:e|y)$/, "") : word.replace(/^(\w{3})s$/, "$1");
}
const split = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
const cache = new Map();
function stemmed(word) {
  if (!cache.has(word)) cache.set(word, stem(word));
  return cache.get(word);
}
const wordsOf = (text) => split(text).filter((word) => !STOP.has(word)).map(stemmed);
// A question of stop words only is looked up as it stands.
const asked = (text) => [...new Set(wordsOf(text).length ? wordsOf(text) : split(text).map(stemmed))];

// A row of BOOK.sections by name; paragraphs: [[id, text], ...].
function sectionOf([page, anchor, title, within, words, ...rest]) {
  const paragraphs = [];
  for (let at = 0; at < rest.length; at += 2) paragraphs.push([rest[at], rest[at + 1].replaceAll("\n", " ")]);
  return { page, anchor, title, within, words, paragraphs };
}

// word -> Map(section number -> how often it stands there: a title counts five times, code a little)
function indexOf(sections) {
  const index = new Map();
  const count = (word, number, weight) => {
    if (!index.has(word)) index.set(word, new Map());
    const places = index.get(word);
    places.set(number, (places.get(number) || 0) + weight);
  };
  sections.forEach(({ title, within, words, paragraphs }, number) => {
    for (const word of wordsOf(title)) count(word, number, 5);
    for (const word of wordsOf(within)) count(word, number, 0.5);
    for (const word of wordsOf(words)) count(word, number, 0.3);
    for (const [, text] of paragraphs) for (const word of wordsOf(text)) count(word, number, 1);
  });
  return index;
}

// The fewest letters to change, add, leave out or swap with a neighbour to make one word of the other; more than `most` is not told apart.
function distance(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before, last = [], row = [...Array(b.length + 1).keys()];
  for (let i = 1; i <= a.length; i++) {
    [before, last, row] = [last, row, [i]];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.length];
}

class Search {
  constructor(book) {
    const { synonyms } = book, sections = book.sections.map(sectionOf);
    this.sections = sections;
    this.index = indexOf(sections);
    this.synonyms = synonyms.map(([words, number, anchor]) => [asked(words), number, anchor]);
    this.known = new Set(this.synonyms.flatMap(([words]) => words));
    const lengths = sections.map(({ paragraphs }) => paragraphs.reduce((sum, [, text]) => sum + text.length, 200));
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    this.size = lengths.map((length) => 0.5 + (0.5 * length) / mean);
  }

  rarity(word) {
    return Math.log(1 + this.sections.length / (1 + (this.index.get(word)?.size || 0)));
  }

  // What explains comes before what is to be done, and before the pages for teachers and authors.
  weight(number) {
    const { page, title } = this.sections[number];
    return page.startsWith("lessons/") ? (title.startsWith("Exercise ") ? 0.75 : 1) : 0.7;
  }

  // The words of the book that a word of the question stands for: itself; what begins with it; or what it may be misspelled from.
  meant(word) {
    if (this.index.has(word) || this.known.has(word)) return [word];
    const all = [...new Set([...this.index.keys(), ...this.known])];
    const begin = word.length > 2 ? all.filter((other) => other.startsWith(word)) : [];
    if (begin.length || word.length < 5) return begin;
    const most = word.length < 8 ? 1 : 2;
    return all.filter((other) => other[0] === word[0] && distance(word, other, most) <= most);
  }

  // found: [[score, section number], ...], best first; words: what was looked up; terms: section -> the term that is asked for there.
  find(question) {
    const words = asked(question), meant = words.map((word) => this.meant(word)), every = new Set(meant.flat());
    const scores = new Map(), shared = new Map();
    let total = 0;
    words.forEach((word, position) => {
      if (!meant[position].length) return;
      const rarity = Math.max(...meant[position].map((other) => this.rarity(other)));
      total += rarity;
      const best = new Map();
      for (const other of meant[position])
        for (const [number, times] of this.index.get(other) || [])
          best.set(number, Math.max(best.get(number) || 0, (times * 2.2) / (times + 1.2 * this.size[number])));
      for (const [number, score] of best) {
        scores.set(number, (scores.get(number) || 0) + score * rarity);
        shared.set(number, (shared.get(number) || 0) + rarity);
      }
    });
    for (const [number, score] of scores)
      scores.set(number, score * (shared.get(number) / total) ** 2 * this.weight(number));
    // A synonym of one word counts when it is all that is asked: "student" in a longer question does not ask about distillation.
    const terms = new Map();
    for (const [synonym, number, anchor] of this.synonyms) {
      const whole = synonym.length === words.length;
      if (terms.has(number) || !synonym.every((word) => every.has(word)) || (synonym.length === 1 && !whole)) continue;
      terms.set(number, whole ? anchor : "");
      scores.set(number, (scores.get(number) || 0) + 3 * synonym.reduce((sum, word) => sum + this.rarity(word), 0));
    }
    const order = [...scores].map(([number, score]) => [score, number]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    return { found: this.thin(order), words: every, terms };
  }

  // No page fills the list, nor what shares a common word only.
  thin(order) {
    const times = new Map();
    return order.filter(([score, number]) => {
      if (score < LEAST * order[0][0]) return false;
      const page = this.sections[number].page;
      times.set(page, (times.get(page) || 0) + 1);
      return times.get(page) <= PER_PAGE;
    });
  }

  // Where in a section most of the words stand: the id of the paragraph, and its sentences.
  excerpt(number, words) {
    const { anchor, paragraphs } = this.sections[number];
    let best = [anchor, [""], 0], most = -1;
    for (const [id, text] of paragraphs) {
      const sentences = text.split(/(?<=[.!?:]) +/);
      sentences.forEach((sentence, position) => {
        const held = [...new Set(wordsOf(sentence))].filter((word) => words.has(word)).reduce((sum, word) => sum + this.rarity(word), 0);
        if (held > most) [best, most] = [[id, sentences, position], held];
      });
    }
    const [id, sentences, position] = best;
    let text = sentences[position], next = position + 1;
    while (text.length < EXCERPT / 2 && next < sentences.length) text += ` ${sentences[next++]}`;
    let end = next < sentences.length ? " …" : "";
    let begin = position ? "… " : "";
    if (text.length > EXCERPT * 1.3) {
      // The first of the words stays in it.
      const first = Math.max(0, text.split(/\s+/).findIndex((piece) => wordsOf(piece).some((word) => words.has(word))) - 8);
      if (first) begin = "… ";
      text = text.split(/\s+/).slice(first).join(" ");
      if (text.length > EXCERPT * 1.3) [text, end] = [text.slice(0, EXCERPT).replace(/\s+\S*$/, ""), " …"];
    }
    return { id: id === paragraphs[0]?.[0] ? anchor : id, text: begin + text + end };
  }

  // The words of a section's code that are looked up.
  inCode(number, words) {
    return this.sections[number].words.split("|").filter((word) => words.has(stemmed(word.toLowerCase())));
  }
}

// A text as nodes, with the words that are looked up marked in it.
function marked(text, words) {
  return text.split(/([\p{L}\p{N}_]+)/u).map((piece) => {
    if (!words.has(stemmed(piece.toLowerCase()))) return piece;
    return Object.assign(document.createElement("mark"), { textContent: piece });
  });
}

function show(search, question) {
  const list = document.getElementById("search-results"), status = document.getElementById("search-status");
  list.replaceChildren();
  document.title = question ? `${question} - Search` : "Search";
  if (!question.trim()) return status.replaceChildren();
  const { found, words, terms } = search.find(question);
  status.textContent = found.length
    ? `${found.length} section${found.length === 1 ? "" : "s"}${found.length > SHOWN ? `, the best ${SHOWN} are shown` : ""}`
    : "No section has these words. Try the name of what you look for, or a word of the error.";
  for (const [, number] of found.slice(0, SHOWN)) {
    const { page, title, within } = search.sections[number];
    const term = terms.get(number) || "";
    const looked = new Set([...words, ...asked(term.replace("term-", "").replaceAll("-", " "))]);
    const excerpt = search.excerpt(number, looked);
    const anchor = term || excerpt.id;
    const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
    link.href = page + (anchor && `#${anchor}`);
    link.append(...marked(title, looked));
    item.append(link);
    if (within) item.append(" ", ...marked(within, looked));
    text.append(...marked(excerpt.text, looked));
    const code = search.inCode(number, looked);
    if (code.length && !text.querySelector("mark")) text.append(...marked(` In its code: ${code.join(", ")}`, looked));
    item.append(text);
    list.append(item);
  }
}

const search = new Search(BOOK);
const fields = [...document.querySelectorAll('input[name="q"]')];
const field = document.querySelector(".bd-search-container input");
const question = new URLSearchParams(location.search).get("q") || "";
for (const one of fields) one.value = question;
show(search, question);
field.focus();
field.select();
let waiting;
field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    show(search, field.value);
    try {
      history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
    } catch {
      // a file of this disk keeps its address
    }
  }, 150);
});
