// A lesson's pages: which sections were read, kept in this browser, and pictures as large as the window.
const KEY = "tinytorch-read";
const pathOf = (address) => new URL(address, location).pathname.match(/lessons\/([\w-]+\/[\w-]+)\.html$/)?.[1];

function readSections() {
  try {
    return new Set(JSON.parse(localStorage.getItem(KEY) || "[]"));
  } catch {
    return new Set(); // no storage here, or somebody else's words in it
  }
}

function showRead() {
  const read = readSections();
  for (const link of document.querySelectorAll("a.section-link")) {
    const done = read.has(pathOf(link.href));
    link.classList.toggle("read", done);
    link.querySelector(".read-words")?.remove();
    if (done) link.insertAdjacentHTML("beforeend", '<span class="read-words"> (read)</span>');
  }
}

const here = pathOf(location.href);
if (here) {
  const button = document.createElement("button");
  button.className = "mark-read";
  const show = () => {
    const done = readSections().has(here);
    button.setAttribute("aria-pressed", done);
    button.textContent = done ? "✓ Read" : "Mark as read";
  };
  button.addEventListener("click", () => {
    const read = readSections();
    if (!read.delete(here)) read.add(here);
    try {
      localStorage.setItem(KEY, JSON.stringify([...read]));
    } catch {
      button.after(" This browser keeps nothing for this page.");
    }
    show();
    showRead();
  });
  show();
  document.querySelector("article").append(button);
}
showRead();

// A picture opens on a click or Enter, and closes on Escape, a click or its button.
const pictures = document.querySelectorAll("article .output img");
if (pictures.length) {
  const dialog = document.createElement("dialog");
  dialog.className = "picture";
  dialog.innerHTML = '<form method="dialog"><button>Close</button></form><img alt="">';
  dialog.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  for (const picture of pictures) {
    const button = document.createElement("button");
    button.className = "enlarge";
    button.title = "Enlarge";
    picture.replaceWith(button);
    button.append(picture);
    button.addEventListener("click", () => {
      Object.assign(dialog.querySelector("img"), { src: picture.src, alt: picture.alt });
      dialog.showModal();
    });
  }
}
