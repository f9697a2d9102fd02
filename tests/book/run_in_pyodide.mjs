// Run a Python program in Pyodide, under Node: node run_in_pyodide.mjs PYODIDE FOLDER PROGRAM [ARGUMENT ...]
// FOLDER is /course there; the packages that PROGRAM imports are loaded from PYODIDE.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, folder, program, ...words] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: resolve(pyodide), args: [program, ...words], env: { HOME: "/tmp" } });
python.FS.mkdirTree("/course");
python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(folder) }, "/course");
python.FS.chdir("/course");
const source = readFileSync(program, "utf8");
await python.loadPackagesFromImports(source);
python.globals.set("words", python.toPy(words));
python.runPython(source);
