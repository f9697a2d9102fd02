// Says in a notebook in the browser that its Python could not be loaded: JupyterLite says it in the console only.
const files = ["pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
const SECONDS = 15; // until the first byte of an answer

function say(reason) {
  if (document.querySelector("#python-missing")) return;
  const box = document.createElement("div");
  box.id = "python-missing";
  box.setAttribute("role", "alert");
  box.style = "position: fixed; z-index: 10000; bottom: 0; left: 0; right: 0; padding: 12px 16px; font: 16px/1.5 sans-serif; "
    + "color: #000; background: #ffe9a8; border-top: 2px solid #7a5b00; display: flex; gap: 16px; align-items: start";
  box.innerHTML = '<div style="flex: 1"><b></b><br>Load the page again. If it still fails, tell your instructor or the author of this site, or '
    + '<a style="color: #00409a; text-decoration: underline" href="../../index.html">get the course</a> and work on your own machine. '
    + "What you wrote here stays in this browser.</div><button>Close</button>";
  box.querySelector("b").textContent = `Python could not be loaded: ${reason}.`;
  box.querySelector("button").onclick = () => box.remove();
  document.body.append(box);
}

async function look(name) {
  const address = new URL(`../static/pyodide/${name}`, location);
  try {
    const answer = await fetch(address, { method: "HEAD", signal: AbortSignal.timeout(SECONDS * 1000) });
    if (!answer.ok) say(`the site answers ${answer.status} to ${name}`);
  } catch (error) {
    say(error.name === "TimeoutError" ? `${name} was not answered in ${SECONDS} s` : `${name} cannot be reached`);
  }
}

addEventListener("DOMContentLoaded", () => files.forEach(look));
// A Python that fails as it starts rejects with its message as a string, once for each of JupyterLite's attempts.
const failures = new Set();
addEventListener("unhandledrejection", ({ reason }) => {
  if (typeof reason !== "string") return;
  if (failures.has(reason)) say(reason);
  failures.add(reason);
});
