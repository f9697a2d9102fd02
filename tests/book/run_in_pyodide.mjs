// Run a Python program in Pyodide, under Node: node run_in_pyodide.mjs PYODIDE FOLDER PROGRAM [ARGUMENT ...]
// It works in FOLDER; NumPy is loaded where PYODIDE has it.
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, folder, program, ...words] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: resolve(pyodide), args: [program, ...words] });
python.FS.mkdirTree("/course");
python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(folder) }, "/course");
python.FS.chdir("/course");
const numpy = JSON.parse(readFileSync(resolve(pyodide, "pyodide-lock.json"))).packages.numpy;
if (existsSync(resolve(pyodide, numpy.file_name))) await python.loadPackage("numpy");
python.runPython(readFileSync(program, "utf8"));
