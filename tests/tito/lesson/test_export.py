"""From a lesson to its module in the package."""

import ast
import subprocess
import sys

import pytest
from small_course import edit, solve

from tito import files
from tito.errors import TitoError
from tito.learn import notebook_sync
from tito.lesson import cells, export, notebook


def built(entry):
    return export.current(entry, notebook_sync.read(entry, {}))


def test_the_module_holds_the_exported_cells_with_imports_on_top(small_course):
    text = built(small_course.lesson("numbers")).text
    assert (
        text.split("\n")[0]
        == "# From modules/source/01_numbers/numbers_dev.py by `tito export`, docstrings shortened;"
        " edit that file."
    )
    assert (
        text.split("\n", 2)[2]
        == '''"""Numbers: A lesson about numbers."""

import math

import numpy as np

__all__ = ["LIMIT", "double", "triple"]


LIMIT = 10


def double(x):
    """Twice `x`.

    >>> double(2)
    4
    """
    twice = x + x
    return twice


def triple(x):
    """Three times `x`."""
    return double(x) + x


def _given(x):
    return math.floor(triple(x))
'''
    )


def test_a_text_at_the_top_of_the_first_cell_is_the_docstring(small_workspace):
    entry = small_workspace.lesson("numbers")
    edit(entry, "import math", '"""Numbers.\n\n>>> double\n"""\nimport math')
    module = built(entry)
    assert module.text.split("\n")[2:7] == ['"""Numbers.', "", ">>> double", '"""', ""]
    assert module.place(3).endswith('"""Numbers.')
    assert module.text.count("Numbers") == 1


def test_the_package_s_own_imports_stand_last(small_course):
    source = cells.parse(
        small_course.lesson("sums").script,
        small_course.lesson("sums")
        .script.read_text(encoding="utf-8")
        .replace(
            "from tinytorch.core.numbers import double",
            "from tinytorch.core.numbers import triple, double\nimport numpy\nfrom __future__"
            " import annotations\nimport os.path as p, sys",
        ),
    )
    text = export.current(small_course.lesson("sums"), source).text
    assert (
        "from __future__ import annotations\n\nimport os.path as p\nimport sys\n\nimport numpy\n\n"
        "from tinytorch.core.numbers import double, triple\n\n__all__" in text
    )


def test_an_import_that_shares_its_line_stays_where_it_is(small_workspace):
    entry = small_workspace.lesson("numbers")
    edit(entry, "LIMIT = 10", "import os; LIMIT = len(os.sep)\nif True:\n    import json")
    text = built(entry).text
    assert "import os; LIMIT = len(os.sep)\nif True:\n    import json" in text
    compile(text, "module", "exec")


def test_an_import_that_an_editor_moved_to_a_cell_that_is_not_exported_counts(small_workspace):
    """`isort` gathers the imports of a script in the first cell that has code between them."""
    entry = small_workspace.lesson("numbers")
    edit(entry, "LIMIT = 10", "LIMIT = int(math.log2(np.exp2(10)))")
    edit(entry, "import math\n", "\n# %%\nimport math, os\nimport numpy as np\n\n# %%\n#| export\n")
    module = built(entry)
    assert "import math\n\nimport numpy as np\n" in module.text and "import os" not in module.text
    assert module.place(module.text.split("\n").index("import math") + 1).endswith("math, os")


def test_a_star_import_is_on_a_separate_line(small_workspace):
    entry = small_workspace.lesson("numbers")
    long = f"from {'a' * 120} import *"
    edit(entry, "import math", f"from math import sqrt, pi\nfrom math import *\n{long}")
    text = built(entry).text
    assert "\nfrom math import *\nfrom math import pi, sqrt\n" in text and f"\n{long}\n" in text
    compile(text, "module", "exec")


def test_every_line_of_the_module_knows_its_line_in_the_lesson(small_course):
    entry = small_course.lesson("numbers")
    module, lesson = built(entry), entry.script.read_text(encoding="utf-8").split("\n")
    lines = module.text.split("\n")
    assert len(module.origin) == len(lines) - 1
    placed = [(text, place) for text, place in zip(lines, module.origin) if place]
    assert len(placed) > 12
    for text, (cell, line) in placed:
        assert lesson[cell.line + line - 1] == text


def test_an_unfinished_lesson_can_be_exported_and_imported(small_workspace):
    entry = small_workspace.lesson("numbers")
    export.write_module(entry, built(entry))
    code = "import tinytorch.core.numbers as n; print(n.LIMIT); n.double(1)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=small_workspace.path, capture_output=True, text=True
    )
    assert result.stdout == "10\n"
    assert "NotImplementedError: yours to write: tito hint numbers-double" in result.stderr


def test_what_python_cannot_read_is_left_out_and_reported_with_the_lessons_line(small_workspace):
    entry = small_workspace.lesson("numbers")
    edit(entry, "LIMIT = 10", "LIMIT = (10")
    module = built(entry)
    line = "Cell 3, line 15 is left out: LIMIT = (10: SyntaxError: '(' was never closed"
    assert f"\n# {line}\n" in module.text and "def double" in module.text
    assert [one.words for one in module.left_out] == [line]
    assert module.left_out[0].names == ("LIMIT",)
    with pytest.raises(TitoError, match=r"numbers_dev\.py:15: syntax error") as error:
        module.whole()
    assert error.value.code == 1
    compile(module.text, "module", "exec")


def test_what_the_compiler_has_no_memory_for_is_left_out(small_workspace, monkeypatch):
    """Python 3.11 raises SystemError then, without a sentence."""

    def without_memory(tree, *more, **options):
        if "LIMIT = 10" in ast.unparse(tree):
            raise SystemError("<built-in function compile> returned NULL")
        return compile(tree, *more, **options)

    monkeypatch.setattr(export, "compile", without_memory, raising=False)
    module = built(small_workspace.lesson("numbers"))
    assert [one.words for one in module.left_out] == [
        "Cell 3 is left out: line 10: #| export: MemoryError: too deeply nested"
    ]


def test_an_exercise_that_is_left_out_is_not_lost_so_nothing_is_saved(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    export.write_module(entry, built(entry))
    edit(entry, "return twice", "return (twice")
    assert export.write_module(entry, built(entry)) == (True, None)


def test_exporting_twice_changes_nothing(small_course):
    entry = small_course.lesson("numbers")
    assert export.write_module(entry, built(entry)) == (True, None)
    assert export.write_module(entry, built(entry)) == (False, None)


def test_long_lists_of_names_are_folded(small_workspace):
    entry = small_workspace.lesson("numbers")
    edit(entry, "LIMIT = 10", "\n".join(f"constant_number_{n} = {n}" for n in range(30)))
    text = built(entry).text
    assert max(len(line) for line in text.split("\n")) <= 120
    names = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    assert ast.literal_eval(names.value) == [f"constant_number_{n}" for n in range(30)] + [
        "double",
        "triple",
    ]


def test_a_notebook_exports_the_same_module_as_its_script(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    from_script = built(entry).text
    entry.notebook.write_text(
        notebook.to_notebook(entry.script.read_text(encoding="utf-8"), entry.declared),
        encoding="utf-8",
    )
    entry.script.unlink()
    assert built(entry).text.split("\n")[1:] == from_script.split("\n")[1:]


@pytest.mark.parametrize(
    "loss", ["emptied and reset", "cut in two", "one exercise is a stub again"]
)
def test_written_exercises_that_the_lesson_has_lost_are_saved_from_the_package(
    small_workspace, loss
):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    export.write_module(entry, export.current(entry, cells.read(entry.script)))
    contents = entry.module_path.read_bytes()
    if loss == "cut in two":
        text = entry.script.read_text(encoding="utf-8")
        entry.script.write_text(text[: text.index('# %% exercise="triple"')], encoding="utf-8")
    else:
        expected = None if loss == "emptied and reset" else "triple"
        pristine = small_workspace.lesson("numbers").declared
        entry.script.write_text(
            (
                pristine.source.text
                if expected is None
                else entry.script.read_text(encoding="utf-8").replace(
                    entry.root.reference.lesson("numbers").declared.exercise(expected).cell.source,
                    pristine.exercise(expected).cell.source,
                )
            ),
            encoding="utf-8",
        )
    saved_copy = export.write_module(entry, export.current(entry, cells.read(entry.script)))[1]
    assert (
        saved_copy / "files" / entry.module_path.relative_to(small_workspace.path)
    ).read_bytes() == contents
    with pytest.raises(TitoError, match="nothing to undo"):
        files.undo(small_workspace)  # it would bring back the package, not the lesson


def test_an_exercise_that_is_only_edited_saves_nothing(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    export.write_module(entry, export.current(entry, cells.read(entry.script)))
    edit(entry, "twice = x + x", "twice = 2 * x")
    assert export.write_module(entry, export.current(entry, cells.read(entry.script))) == (
        True,
        None,
    )


@pytest.mark.parametrize(
    "code",
    [
        "def f(): pass",
        "class f: pass",
        "f: int = 1",
        "if 1:\n    f = 1",
        "(f, g), *h = x",
        "import f",
        "from a import b as f",
        "for f in x: pass",
        "with a as f: pass",
        "[n for n in x if (f := n)]",
        "match x:\n    case [*f]: pass",
        "match x:\n    case {1: 2, **f}: pass",
        "f.__code__ = g.__code__",
        "f.memory[0].x = 1",
        "def g():\n    def h():\n        global f\n        f = 1",
        "def g():\n    globals()['f'] = 1",
        "globals().update(f=1)",
        "setattr(module, 'f', 1)",
        "vars().__setitem__('f', 1)",
        "exec('def f(): pass')",
    ],
)
def test_whatever_gives_a_name_of_a_module_a_value_is_found(code):
    assert "f" in dict(export.bindings(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "f(1)",
        "print('f')",
        "def g(f):\n    f = f.x = 1",
        "class g:\n    f = 1",
        "[f for f in x]",
        "lambda f: f",
        "x.f = 1",
        "__all__ = ['f']",
    ],
)
def test_what_only_uses_a_name_or_has_one_of_its_own_defines_nothing(code):
    assert "f" not in dict(export.bindings(ast.parse(code)))
