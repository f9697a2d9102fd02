// Python beside the page: loads Pyodide and a lesson's zip, and answers what try.js asks.
let ready;

async function start(lesson) {
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const python = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  const zip = await fetch(new URL(`${lesson}.zip`, import.meta.url));
  if (!zip.ok) throw new Error(`${zip.url}: ${zip.status}`);
  python.unpackArchive(await zip.arrayBuffer(), "zip", { extractDir: "/course" });
  python.runPython("import os, sys; os.chdir('/course'); sys.path.insert(0, '/course')");
  return python.pyimport("run");
}

addEventListener("message", async ({ data }) => {
  try {
    ready ??= start(data.lesson);
    const program = await ready;
    postMessage({ begun: true }); // from here on the time counts
    if (data.exercise) postMessage({ answer: JSON.parse(program.run(data.exercise, data.written)) });
    else if (data.written) postMessage({ zip: program.archive(data.written).toJs() });
  } catch (error) {
    ready = undefined;
    postMessage({ failed: String(error) });
  }
});
