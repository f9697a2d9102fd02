"""Every check and every example of lessons, with the course's solutions: run by test_int32.py in
Pyodide, where NumPy's integers have 32 bits. `words`: the lessons' names.
"""

import doctest
import importlib
import sys
import threading
import traceback
from pathlib import Path

import numpy as np

sys.path.insert(0, "/course")

from tito.learn import browser, inline  # noqa: E402
from tito.lesson import cells  # noqa: E402
from tito.lesson.form import TEST  # noqa: E402

threading.Thread.start = browser._start
assert np.array([1]).dtype == np.int32, "here integers should have 32 bits"
for name in words:  # noqa: F821
    [path] = Path("/course/modules/source").glob(f"*_{name}/checks.py")
    sections = cells.read(path).cells
    module = importlib.import_module(f"tinytorch.core.{name}")
    number = 0
    for section in sections:
        if "points" not in section.metadata:
            continue
        for function in TEST.findall(section.source):
            number += 1
            try:
                inline._run(section, function, sections, dict(vars(module)))
            except Exception as error:
                if browser.missed_threads():
                    print(f"{name}: {function} needs threads")
                    continue
                where = traceback.extract_tb(error.__traceback__)[-1].lineno
                print(f"{name}: {function}, line {where}: {type(error).__name__}: {error}")
    for example in doctest.DocTestFinder().find(module, globs=vars(module)):
        runner = doctest.DocTestRunner()
        said = []
        runner.run(example, out=said.append)
        if said and browser.missed_threads():
            said = [f"the example of {example.name} needs threads"]
        print(*(f"{name}: {text}" for text in said), sep="\n", end="\n" if said else "")
        number += runner.tries
    print(f"{name}: {number} run")
