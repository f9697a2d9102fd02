"""Questions about a learner's own code. Their answers come from running it.

Of one exercise, small changes of a line are tried (`lesson/changes.py`): what do the visible checks
say, and what do the docstring's examples return? From these results, here, come the questions:

    caught   a line is changed: which check fails?
    changed  a line is changed: what does a call return?
    blame    a check says this: which change is the cause?
    shape    what is the shape of a variable after a line?
    missing  a line is missing: write it

Most of the code leaves out what is trivial (the answer is read off the question), ambiguous (two
options are right) or tedious (long numbers).
"""

import ast
import difflib
import doctest
import random
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tito.lesson import cells
from tito.lesson.changes import CellText, Change, changes
from tito.lesson.lesson_format import Exercise

LONGEST, LONGEST_LINE = 60, 70  # letters of an answer, and of a line to remember
MOST_EXAMPLES = 4
KINDS = ("caught", "changed", "blame", "shape", "missing")  # in the order in which they are asked
NONSENSE = re.compile(
    r"(Type|Attribute|Name|UnboundLocal|Key|Recursion)Error|still running|truth value|only integers"
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
WORD = re.compile(r"[A-Za-z_]\w*")
RANDOM = re.compile(r"rng|seed|random")

Outcomes = dict[str, tuple[str, str]]  # {check: (status, message)}


@dataclass(frozen=True)
class Ran:
    """What a version of the code did: outcomes of the checks, and texts of the examples' values."""

    checks: Outcomes
    values: tuple[str | None, ...]

    @property
    def failed(self) -> list[str]:
        return [id for id, (status, _) in self.checks.items() if status != "passed"]

    @property
    def messages(self) -> list[str]:
        """The messages of the checks that fail, but not by nonsense."""
        found = [text for status, text in self.checks.values() if status == "failed"]
        return [text for text in found if not NONSENSE.search(text)]


@dataclass(frozen=True)
class Version:
    """The code with another text of the statement at a line of the cell, "" if it is left out."""

    line: int
    text: str
    cell: str


@dataclass(frozen=True)
class Question:
    """One question about `code`, [(line of the learner's file, text)].

    mark     the line that it is about, or 0
    options  to choose the answer from; () to type it
    reasons  what is said after the answer
    cell     the changed text of the exercise's cell, or ""
    run      what shows the answer: the program of an example, or the id of a check
    """

    exercise: str
    kind: str
    text: str
    code: tuple[tuple[int, str], ...]
    mark: int
    answer: str
    options: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    cell: str = field(default="", repr=False)
    run: str = ""

    @property
    def key(self) -> str:
        """Names the question while the code is the same, wherever it is in the file."""
        asked = self.kind, [text for _, text in self.code], self.cell, self.run, self.answer
        return f"{self.kind}-{zlib.crc32(repr(asked).encode('utf-8', 'surrogatepass')):08x}"

    def is_right(self, typed: str) -> bool:
        """Whether an answer is right: the letter of an option, or the same numbers. (The checks
        decide on a line.)
        """
        if self.options:
            return typed == "abcd"[self.options.index(self.answer)]
        return numbers_of(typed) == numbers_of(self.answer)


class Code:
    """The code of an exercise in the learner's file.

    lines       of its cell
    statements  {line of the cell: the statement that begins there}
    own         the lines of the cell that the learner wrote
    """

    def __init__(self, exercise: Exercise, cell: cells.Cell) -> None:
        self.exercise, self.cell = exercise, cell
        self.lines, self.tree = cell.source.split("\n"), cells.tree_of(cell.source)
        self.statements: dict[int, ast.stmt] = {}
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        for node in sorted(nodes, key=lambda node: node.lineno):
            self.statements.setdefault(node.lineno, node)
        stub, lines = (
            [row.strip() for row in text] for text in (exercise.stub.split("\n"), self.lines)
        )
        match = difflib.SequenceMatcher(None, stub, lines, False).get_matching_blocks()
        given = {block.b + i + 1 for block in match for i in range(block.size)}
        written = {n for n, line in enumerate(lines, 1) if line and line[0] != "#"}
        self.own = written - given

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]

    def function(self, line: int) -> ast.FunctionDef | None:
        """The outermost function around a line of the cell."""
        return next((f for f in self.functions if f.lineno <= line <= (f.end_lineno or 0)), None)

    def at(self, line: int) -> int:
        """The line of the learner's file."""
        return self.cell.line + line - 1

    def old(self, line: int) -> str:
        return header(self.statements[line])

    def first_lines(self) -> dict[int, int]:
        """{line of the cell: first line of its statement}."""
        firsts = {n: n for n in range(1, len(self.lines) + 1)}
        for line, node in self.statements.items():
            firsts |= dict.fromkeys(range(line, last_line(node) + 1), line)
        return firsts

    def shown(self, line: int, new: str = "") -> tuple[tuple[int, str], ...]:
        """The lines of the function around a line, of its docstring the first one only; `new` in
        the place of the statement at that line.
        """
        node = self.function(line)
        assert node
        doc = node.body[0] if ast.get_docstring(node) else None
        rows = []
        for n in range(node.lineno, (node.end_lineno or 0) + 1):
            text = self.lines[n - 1]
            if doc and n == doc.lineno < (doc.end_lineno or 0):
                text += ' ..."""'
            elif not text.strip() or "### " in text:
                continue
            elif doc and doc.lineno < n <= (doc.end_lineno or 0):
                continue
            if new and line < n <= last_line(self.statements[line]):
                continue
            if new and n == line:
                text = text[: len(text) - len(text.lstrip())] + new
            rows.append((self.at(n), text))
        return tuple(rows)

    def examples(self) -> list[str]:
        """Programs of the docstrings that end in an expression with a result."""
        programs = []
        for node in ast.walk(self.tree):
            doc = isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node)
            rows: list[str] = []
            for example in doctest.DocTestParser().get_examples(doc or ""):
                rows.append(example.source.rstrip("\n"))
                tree = cells.tree_or_none(rows[-1])
                is_value = tree and isinstance(tree.body[-1], ast.Expr)
                if is_value and example.want and not example.exc_msg and len(rows) <= 10:
                    programs.append("\n".join(rows))
        return [text for text in programs if not RANDOM.search(text)][:MOST_EXAMPLES]

    def versions(self) -> list[Version]:
        """Plausible mistakes in one statement each, in an order that the code fixes."""
        text, seen, versions = CellText(self.cell.source), {ast.dump(self.tree)}, []
        for line in sorted(self.own & self.statements.keys()):
            node, function = self.statements[line], self.function(line)
            if not function or isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Try):
                continue
            for part in [node] if isinstance(node, ast.Raise) else [node, *parts_of(node)]:
                for change in [*changes(part, text), *other_names(part, function, text)]:
                    version = self._version(line, text, change)
                    tree = version and cells.tree_or_none(version.cell)
                    if version and tree and ast.dump(tree) not in seen:
                        seen.add(ast.dump(tree))
                        versions.append(version)
        random.Random(len(self.cell.source)).shuffle(versions)
        return versions

    def _version(self, line: int, text: CellText, change: Change) -> Version | None:
        cell, new = text.replaced(*change), ""
        if change[2] != "pass":
            tree = cells.tree_or_none(cell)
            nodes = ast.walk(tree) if tree else ()
            found = (n for n in nodes if isinstance(n, ast.stmt) and n.lineno == line)
            new = header(node) if (node := next(found, None)) else ""
            if not new or re.search(r"return None|not .*\bnot\b", new):
                return None
        return Version(line, new, padded(cell, line, self.cell.source))

    def with_line(self, line: int, typed: str) -> str:
        """The cell with a typed line in the place of the statement at a line."""
        before, last = self.lines[line - 1], last_line(self.statements[line])
        indent = before[: len(before) - len(before.lstrip())]
        rows = [indent + " ".join(typed.split("\n")).strip(), *[""] * (last - line)]
        return "\n".join([*self.lines[: line - 1], *rows, *self.lines[last:]])


def padded(cell: str, line: int, before: str) -> str:
    """A changed cell with empty lines below the statement at a line, so that all lines below have
    the numbers that they had.
    """
    rows, lost = cell.split("\n"), before.count("\n") - cell.count("\n")
    tree = cells.tree_or_none(cell)
    if not lost or not tree:
        return cell
    nodes = (n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno == line)
    at = next((last_line(node) for node in nodes), line)
    return "\n".join([*rows[:at], *[""] * lost, *rows[at:]])


def last_line(node: ast.stmt) -> int:
    """The last line of a statement, or of the head of a compound one."""
    body = getattr(node, "body", None)
    return max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno


def parts_of(node: ast.stmt) -> list[ast.expr | ast.keyword | ast.arg]:
    """The expressions of a statement, without statements inside it and without texts with values
    in them.
    """
    todo = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    for part in todo:
        todo += () if isinstance(part, ast.JoinedStr) else ast.iter_child_nodes(part)
    return [part for part in todo if isinstance(part, ast.expr | ast.keyword | ast.arg)]


def is_work(node: ast.stmt) -> bool:
    """Whether a line computes something that can be remembered: not just `return x`."""
    parts = ast.BinOp | ast.Compare | ast.BoolOp | ast.Subscript | ast.IfExp | ast.comprehension
    found: list[ast.AST] = [node, *parts_of(node)]
    works = any(isinstance(n, parts | ast.AugAssign) or getattr(n, "args", None) for n in found)
    return (
        works and not isinstance(node, ast.With | ast.Raise) and len(header(node)) <= LONGEST_LINE
    )


def other_names(node: ast.AST, function: ast.FunctionDef, text: CellText) -> Iterator[Change]:
    """The neighbours of a name among the function's variables, which could be taken for it."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    found: list[ast.arg | ast.Name] = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.arg) or isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    found.sort(key=lambda n: (n.lineno, n.col_offset))
    names = list(dict.fromkeys(n.arg if isinstance(n, ast.arg) else n.id for n in found))
    if node.id in names:
        at = names.index(node.id)
        for name in names[max(0, at - 1) : at + 2]:
            if name not in (node.id, "self"):
                yield (*text.span(node), name)


def header(node: ast.stmt) -> str:
    """A statement as one line, or the head of a compound one."""
    text, value = ast.unparse(node).split("\n")[0], getattr(node, "value", None)
    if isinstance(node, ast.Assign | ast.Return) and isinstance(value, ast.Tuple) and value.elts:
        text = text.replace(ast.unparse(value), ast.unparse(value)[1:-1])
    return re.sub(r"'([^'\"\\{}]*)'", r'"\1"', text)


# Texts of messages and values.


def numbers_of(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def is_easy(text: str) -> bool:
    """Whether a reader can work out the numbers of an answer."""
    numbers = [n.replace(".", "").strip("-0") for n in NUMBER.findall(text)]
    short = len(numbers) <= 9 and all(len(number) <= 3 for number in numbers)
    return short and len(text) <= LONGEST and "nan" not in text


def alike(a: str, b: str) -> bool:
    """Whether a reader could take two texts for the same: their numbers differ by less than 1 %."""
    if NUMBER.sub("", a) != NUMBER.sub("", b):
        return False
    pairs = zip(numbers_of(a), numbers_of(b))
    return all(abs(x - y) <= 0.01 * max(abs(x), abs(y), 0.1) for x, y in pairs)


def core(message: str) -> str:
    """A check's message without its guess at the cause: up to the part that says what is yours."""
    parts = re.split(r": (?=[a-z])|\. (?=[A-Z])", message)
    said = [n for n, part in enumerate(parts) if re.search(r"\b(yours?|still|gives?)\b", part)]
    return ": ".join(parts[: said[0] + 1 if said else None])


def is_deducible(message: str) -> bool:
    """Whether a reader can work out a message: its numbers are short, or the input is shown."""
    given, _, found = core(message).partition("yours")
    is_short = not re.search(r"\d\.\d{3}", found or given)
    return "largest difference" not in message and (is_short or "[" in given)


def added(new: str, old: str) -> tuple[set[float], set[str]]:
    """The numbers, and the words, that a text has more often than another."""
    numbers = Counter(map(abs, numbers_of(new))) - Counter(map(abs, numbers_of(old)))
    words = Counter(WORD.findall(new)) - Counter(WORD.findall(old))
    return set(numbers), set(words)


def stems(text: str) -> set[str]:
    """The beginnings of the words of a text."""
    return {word.lower()[:5] for word in re.findall(r"[A-Za-z]{3,}", text)}


def check_name(id: str) -> str:
    return id.partition(".")[2].removeprefix("test_").replace("_", " ")


def chosen(answer: str, others: Sequence[str]) -> tuple[str, ...]:
    """The answer among three others, in an order that depends on the texts only."""
    draw = random.Random(zlib.crc32(repr((answer, others)).encode("utf-8", "surrogatepass")))
    options = [answer, *draw.sample(list(others), min(3, len(others)))]
    draw.shuffle(options)
    return tuple(options)


# The kinds of question.


class Results:
    """What the versions of an exercise's code did, and the questions about it.

    before  what the code itself does
    calls   those that the visible checks make, see `observe.py`; lines are of the cell
    """

    def __init__(
        self,
        code: Code,
        before: Ran,
        ran: Collection[tuple[Version, Ran]],
        calls: Collection[dict[str, Any]] = (),
    ) -> None:
        self.code, self.before, self.ran, self.calls = code, before, ran, calls
        self.examples = code.examples()

    def questions(self, seed: int = 0, most: int = 2) -> list[Question]:
        """The questions, the best first; of a kind, at most so many about a line."""
        found = [
            *self.caught(),
            *self.changed(),
            *self.blame(),
            *self.shape(),
            *self.missing(),
        ]
        random.Random(seed).shuffle(found)
        counts: Counter[tuple[str, int]] = Counter()
        best = []
        for question in sorted(found, key=lambda question: KINDS.index(question.kind)):
            place = question.kind, question.mark or int(numbers_of(question.answer)[0])
            counts[place] += 1
            if counts[place] <= most:
                best.append(question)
        return best

    def near(self, version: Version) -> list[tuple[Version, Ran]]:
        """The versions that change the same function."""
        function = self.code.function(version.line)
        return [row for row in self.ran if self.code.function(row[0].line) is function]

    def described(self, version: Version) -> str:
        old = self.code.old(version.line)
        change = f"changed:\n  - {old}\n  + {version.text}"
        if not version.text:
            change = f"left out:\n  - {old}"
        return f"Line {self.code.at(version.line)} is {change}"

    def asked(self, kind: str, text: str, version: Version, answer: str, **more: Any) -> Question:
        mark, code = self.code.at(version.line), self.code.shown(version.line)
        known: dict[str, Any] = {"mark": mark, "code": code, "cell": version.cell}
        return Question(self.code.exercise.id, kind, text, answer=answer, **(known | more))

    def caught(self) -> Iterator[Question]:
        """A line is changed. Which check fails? The others pass, and fail by another change."""
        for version, after in self.ran:
            ever = Counter(id for _, ran in self.near(version) for id in ran.failed)
            passed = [id for id in after.checks if id in ever and id not in after.failed]
            is_clear = 1 <= len(after.failed) <= 2 and len(after.messages) == len(after.failed)
            if not is_clear or len(passed) < 2 or "yours raises" in after.messages[0]:
                continue
            own = self.code.own & self.code.statements.keys() - {version.line}
            others = stems(" ".join(map(self.code.old, own)))
            seen = stems(self.code.old(version.line) + " " + version.text) - others
            told = [id for id in [after.failed[0], *passed] if stems(check_name(id)) & seen]
            # The check that fails most often would be guessed.
            if told == after.failed[:1] or ever[after.failed[0]] >= max(ever.values()):
                continue
            answer = check_name(after.failed[0])
            text = f"{self.described(version)}\nWhich of these checks fails then?"
            options = chosen(answer, [check_name(id) for id in passed])
            said = (f"The check says: {after.messages[0]}",)
            more = {"options": options, "reasons": said, "run": after.failed[0]}
            yield self.asked("caught", text, version, answer, **more)

    def changed(self) -> Iterator[Question]:
        """A line is changed. What does an example return?"""
        for n, program in enumerate(self.examples):
            usual = self.before.values[n]
            results = sorted({ran.values[n] or "None" for _, ran in self.ran} - {"None", usual})
            for version, after in self.ran:
                answer, others = after.values[n], [usual or ""]
                if not usual or answer in (None, "None") or not is_easy(answer or ""):
                    continue
                assert answer
                new, _ = added(version.text, self.code.old(version.line))
                if alike(answer, usual) or answer in {f"{number:g}" for number in new}:
                    continue
                for other in results:
                    known = [answer, *others]
                    if is_easy(other) and not any(alike(other, one) for one in known):
                        others.append(other)
                if len(others) >= 2:
                    rows = "\n".join(f"    {row}" for row in program.split("\n"))
                    text = f"{self.described(version)}\nWhat does this return then?\n{rows}"
                    said = (f"Your own code returns {usual}.",)
                    more = {"options": chosen(answer, others), "reasons": said, "run": program}
                    yield self.asked("changed", text, version, answer, **more)

    def place(self, version: Version) -> str:
        """A change as an option."""
        text = version.text or f"left out: {self.code.old(version.line)}"
        return f"{self.code.at(version.line)}: {text}"

    def blame(self) -> Iterator[Question]:
        """A check says something. Which change in this function is the cause? No other one makes a
        check say that, or raise that error.
        """
        for version, after in self.ran:
            message = next(iter(after.messages), "")
            is_clear = 40 <= len(message) <= 300 and is_deducible(message)
            if not is_clear or " at 0x" in message:
                continue
            likely, others = list[str](), list[str]()
            for other, ran in self.near(version):
                if ran.failed and not self._is_alike(ran, after, message):
                    (likely if ran.messages else others).append(self.place(other))
            best = sorted(set(likely if len(likely) > 1 else likely + others))
            if len(best) > 1 and not self._is_told(version, message, best):
                said = core(message)
                text = f"One line was changed, and a check says:\n  {said}\nWhich change was it?"
                answer = self.place(version)
                options = chosen(answer, best)
                failed = next(id for id, (_, said) in after.checks.items() if said == message)
                reasons = (f"All that the check says: {message}",) * (said != message)
                more = {"mark": 0, "options": options, "reasons": reasons, "run": failed}
                yield self.asked("blame", text, version, answer, **more)

    def _is_alike(self, ran: Ran, after: Ran, message: str) -> bool:
        """Whether a change, too, could have had a check say this."""
        error = (re.findall(r"\w+Error", message) or ["no error"])[0]
        said = [text for status, text in ran.checks.values() if status != "passed"]
        same_values = any(ran.values) and ran.values == after.values
        return same_values or any(
            alike(core(text), core(message)) or error in text for text in said
        )

    def _is_told(self, version: Version, message: str, others: list[str]) -> bool:
        """Whether the answer is read off the message: a new number of the change, or a name that
        no other option has.
        """
        numbers, _ = added(version.text, self.code.old(version.line))
        own = set(re.findall(r"\w+_\w+", self.place(version)))
        own -= set(re.findall(r"\w+_\w+", " ".join(others)))
        names = own & set(re.findall(r"\w+_\w+", message))
        return bool(names or numbers & set(map(abs, numbers_of(message))))

    def missing(self) -> Iterator[Question]:
        """A line is missing. In a terminal it is typed, and the checks decide."""
        wrong: dict[int, dict[str, tuple[Version, str]]] = {}
        for version, after in self.ran:
            if after.messages and version.text:
                wrong.setdefault(version.line, {})[after.messages[0]] = version, after.failed[0]
        for line, versions in wrong.items():
            if not is_work(self.code.statements[line]):
                continue
            answer = self.code.old(line)
            others = sorted({version.text for version, _ in versions.values()} - {answer})
            text = (
                f"Line {self.code.at(line)} is missing. Which line belongs there, so that all "
                "checks pass?"
            )
            version, failed = next(iter(versions.values()))
            said = tuple(f"{v.text}\n  {message}" for message, (v, _) in versions.items())[:3]
            options = chosen(answer, others) if len(others) > 1 else ()
            code = self.code.shown(line, "?")
            more = {"code": code, "options": options, "reasons": said, "run": failed, "cell": ""}
            yield self.asked("missing", text, version, answer, **more)

    def _told_step(self, line: int, name: str, shape: Sequence[int]) -> str:
        what = f"line {self.code.at(line)}: {name}" if line else "the result"
        return f"{what} has shape {told_shape(shape)}"

    def shape(self) -> Iterator[Question]:
        """What is the shape of a variable, or of the result, for arguments of these shapes?"""
        seen = set()
        for call in self.calls:
            function = next((f for f in self.code.functions if f.name == call["function"]), None)
            told, lengths = told_arguments(call)
            if not function or not told or len(lengths - {1}) < 3 or not call["regular"]:
                continue
            last = {(line, name): shape for line, name, _, shape in call["steps"] if shape}
            for (line, name), shape in last.items():
                own = line or min((n for n in self.code.own if n > function.lineno), default=0)
                if (
                    own not in self.code.own
                    or own not in self.code.statements
                    or line == function.lineno
                ):
                    continue
                is_new = (line, name, told) not in seen and len(set(shape)) > 1
                answer = told_shape(shape)
                if not is_new or answer[1:-1] in told or self.code.function(own) is not function:
                    continue
                seen.add((line, name, told))
                where = f"{name} after line {self.code.at(line)}" if line else "the result"
                text = f"{call['function']} is called with {told}.\nWhat is the shape of {where}?"
                said = tuple(self._told_step(*place, axes) for place, axes in last.items())
                more = {"mark": self.code.at(line) if line else 0, "reasons": said}
                yield self.asked("shape", text, Version(own, "", ""), answer, **more)


def told_shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def told_arguments(call: dict[str, Any]) -> tuple[str, set[int]]:
    """The arguments of a call in words, "" where one cannot be told; the lengths of their axes."""
    parts, lengths = [], set[int]()
    for name, text in call["arguments"].items():
        shape = call["shapes"][name]
        if shape is not None:
            parts.append(f"{name} of shape {told_shape(shape)}")
            lengths |= set(shape)
        elif text is None:
            return "", set()
        elif text != "None":
            parts.append(f"{name} = {text}")
    return ("" if 0 in lengths else ", ".join(parts)), lengths
