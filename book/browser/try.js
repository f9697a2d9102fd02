// "Try it here": the exercises of a lesson, written and checked on their page. Python, the checks and the editor are loaded
// at the first click. What is written stays in this browser, and a button saves it as a zip that `tito restore` reads.
const lesson = document.querySelector("script[data-lesson]").dataset.lesson;
const SECONDS = 10; // that an exercise may run
const MEGABYTES = 6; // of Python, when a server compresses it

let about, key, editor; // what descent.json says; the place in localStorage; the editor's module
let worker; // Python, once it was asked
const written = {}; // {exercise: code}

const styles = element("link");
styles.rel = "stylesheet";
styles.href = new URL("try.css", import.meta.url);
document.head.append(styles);

const boxes = [...document.querySelectorAll(`.exercise[id^="${lesson}-"]`)];
const nameOf = (box) => box.id.slice(lesson.length + 1);

for (const box of boxes) {
  const bar = element("div", "try");
  const open = element("button", "", "Try it here");
  open.addEventListener("click", () => begin(box, bar));
  bar.append(open);
  commandOf(box).before(bar);
}

// The line "tito test ..." of an exercise, above which the editor goes.
function commandOf(box) {
  return [...box.children].find((part) => /^\s*tito test /.test(part.textContent)) ?? box.lastElementChild;
}

function element(kind, className = "", text = "") {
  const made = document.createElement(kind);
  made.className = className;
  made.textContent = text;
  return made;
}

async function load() {
  if (editor) return;
  const answer = await fetch(new URL(`${lesson}.json`, import.meta.url));
  if (!answer.ok) throw new Error(String(answer.status));
  about = await answer.json();
  key = `${about.course} ${about.edition} ${lesson}`;
  try {
    const kept = JSON.parse(localStorage.getItem(key) || "{}");
    for (const name in kept) if (about.exercises[name]) written[name] = String(kept[name]);
  } catch {
    // no storage here, or somebody else's words in it
  }
  editor = await import("./codemirror.js");
}

async function begin(box, bar) {
  if (typeof WebAssembly === "undefined") {
    bar.replaceChildren("This browser has no WebAssembly, which Python needs here. The lesson runs on your own machine.");
    return;
  }
  const open = bar.firstChild;
  open.disabled = true;
  try {
    await load();
  } catch {
    open.disabled = false;
    open.textContent = "The editor could not be loaded. Try again";
    return;
  }
  const name = nameOf(box);
  const answer = element("div", "answer");
  answer.setAttribute("role", "status");
  const place = element("div", "editor");
  const view = edit(place, name, () => check.click());
  const check = button("Check", () => ask({ exercise: name }, answer, buttons));
  const again = button("Start again", () => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: about.exercises[name].code } });
    answer.replaceChildren();
  });
  const save = button("Save as a zip", () => ask({}, answer, buttons));
  const buttons = [check, again, save];
  const row = element("p", "row");
  row.append(...buttons, element("span", "quiet", "Ctrl Enter checks. What you write stays in this browser."));
  // The editor takes the place of the code.
  for (const part of [...box.children]) {
    if (part === bar) break;
    if (part.classList.contains("cell")) part.hidden = true;
  }
  bar.replaceChildren(place, row, answer);
  view.focus();
  worker ??= newWorker(); // Python is loaded while somebody reads the task
}

function button(text, act) {
  const made = element("button", "", text);
  made.addEventListener("click", act);
  return made;
}

function edit(place, name, run) {
  const { EditorView, EditorState, keymap, tags: tag } = editor;
  const changed = EditorView.updateListener.of((update) => {
    if (!update.docChanged) return;
    written[name] = update.state.doc.toString();
    try {
      localStorage.setItem(key, JSON.stringify(written));
    } catch {
      // it stays until the page is left
    }
  });
  const colours = editor.HighlightStyle.define([
    { tag: [tag.keyword, tag.operatorKeyword], color: "light-dark(#6730c5, #d7bbff)" },
    { tag: [tag.string, tag.special(tag.string)], color: "light-dark(#00622f, #9ce29c)" },
    { tag: [tag.number, tag.bool], color: "light-dark(#8a3f00, #ffb77d)" },
    { tag: tag.comment, color: "var(--quiet)" },
  ]);
  return new EditorView({
    parent: place,
    doc: written[name] ?? about.exercises[name].code,
    extensions: [
      editor.lineNumbers({ formatNumber: (number) => String(number + firstLine(name) - 1) }),
      editor.history(),
      editor.drawSelection(),
      editor.bracketMatching(),
      editor.indentUnit.of("    "),
      EditorState.tabSize.of(4),
      editor.python(),
      editor.syntaxHighlighting(colours),
      keymap.of([
        { key: "Mod-Enter", run: () => (run(), true) },
        ...editor.defaultKeymap,
        ...editor.historyKeymap,
        editor.indentWithTab, // Escape, then Tab, leaves the editor
      ]),
      EditorView.contentAttributes.of({ "aria-label": `Your code of ${name}` }),
      changed,
    ],
  });
}

// The line of the chapter on which an exercise begins, as messages count.
function firstLine(name) {
  const lines = (text) => text.split("\n").length;
  let line = about.exercises[name].line;
  for (const [other, { code, line: above }] of Object.entries(about.exercises)) {
    if (above < about.exercises[name].line && other in written) line += lines(written[other]) - lines(code);
  }
  return line;
}

// Ask Python to check an exercise, or for the zip, and show what it answers.
function ask(question, answer, buttons) {
  for (const one of buttons) one.disabled = true;
  worker ??= newWorker();
  const starting = `Python is starting. The first time, about ${MEGABYTES} MB are loaded.`;
  answer.replaceChildren(worker.begun ? "Running." : starting);
  const own = worker;
  let timer;
  const done = (...parts) => {
    clearTimeout(timer);
    own.onmessage = own.onerror = null;
    for (const one of buttons) one.disabled = false;
    answer.replaceChildren(...parts);
  };
  own.onmessage = ({ data }) => {
    if (data.begun) {
      own.begun = true;
      clearTimeout(timer);
      timer = setTimeout(() => {
        stop();
        done(message(`This ran for more than ${SECONDS} seconds and was stopped. Is there a loop that never ends?`));
      }, SECONDS * 1000);
    } else if (data.failed) {
      stop();
      done(message("Python could not be started. Is there a connection? Then try again."), element("pre", "", data.failed));
    } else if (data.zip) {
      done(saved(data.zip));
    } else {
      done(...shown(data.answer));
    }
  };
  own.onerror = () => {
    stop();
    done(message("Python could not be loaded. Is there a connection? Then try again."));
  };
  own.postMessage({ lesson, written: JSON.stringify(written), ...question });
}

function newWorker() {
  const made = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  made.onmessage = ({ data }) => (made.begun = data.begun); // unless something is asked before
  made.postMessage({ lesson });
  return made;
}

function stop() {
  worker?.terminate();
  worker = undefined;
}

function message(text) {
  return element("p", "wrong", text);
}

function shown({ passed, message: said, results }) {
  if (!passed) return [element("p", "wrong", "Not right yet"), element("pre", "", said)];
  const parts = [element("p", "right", "Right: all checks of this exercise pass.")];
  for (const { text, pictures } of results) {
    if (text) parts.push(element("pre", "", text));
    for (const picture of pictures) {
      const figure = element("figure");
      figure.innerHTML = picture; // made by drawing.py from the learner's own numbers
      parts.push(figure);
    }
  }
  return parts;
}

function saved(bytes) {
  const link = element("a", "", `${lesson}.zip`);
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
  link.download = `${lesson}.zip`;
  link.click();
  const said = element("p", "", "To go on at home, in your workspace: ");
  said.append(element("code", "", `tito restore ${lesson}.zip`), ". Was nothing saved? ", link);
  return said;
}
