"""Questions about a learner's own code. Their answers come from running it.

Of one exercise, small changes of a line are tried (`lesson/changes.py`): what do the visible checks
say, and what do the docstring's examples return? From these results, here, come the questions:

    changed  a line is changed: what does a call return?
    blame    a check says this: which change is the cause?
    shape    what is the shape of a variable after a line?
    missing  a line is missing: write it, if it can be known from the other lines

Most of the code leaves out what is trivial (the answer is read off the question), ambiguous (two
options are right) or tedious (long numbers).
"""

import ast
import builtins
import difflib
import doctest
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tito.lesson import cells
from tito.lesson.changes import CellText, Change, changes, more_changes, variables
from tito.lesson.export import ExportedModule
from tito.lesson.lesson_format import Exercise, indent_of

LONGEST, LONGEST_LINE = 60, 72  # letters of an answer, and of a line to remember
MOST_EXAMPLES = 4  # that run
MOST_OF_LINE, MOST_OF_KIND = 2, 8  # questions of a kind, about a line and in all
ENOUGH = 4  # questions about an exercise
KINDS = ("changed", "blame", "shape", "missing")  # the best first
NONSENSE = re.compile(r"(Type|Attribute|Axis|NotImplemented|ZeroDivision)Error|only integers")
UNCLEAR = re.compile(
    r"(Name|UnboundLocal|Key|Recursion)Error|still running|truth value| at 0x|"
    r"largest difference|are wrong|raised (?!Type|Attribute)"
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
NOT_WRITTEN = re.compile(r"return None|not .*\bnot\b|-0(?![.\d])|\*\* 1\b")  # unlikely
TRIVIAL = re.compile(r"(?<![\w.])([\w.]+)( [-/] |[(\[]|\.\w+\()\1(?![\w.(\[])")  # x - x, x[x]
WORK = re.compile(r"[-+*/@%<>\[]|\w\([^()]|\b(in|is|and|or|not)\b")  # in a line to remember
VALUES = re.compile(r"nonzero|unique|argwhere|mask|\[[^]]*[<>]")  # shapes may depend on them


@dataclass(frozen=True)
class Ran:
    """What a version of the code did: {check: (status, message)}, the examples' values, and the
    calls that were recorded (see `observe.py`; lines are of the cell).
    """

    checks: dict[str, tuple[str, str]]
    values: tuple[str | None, ...]
    calls: Sequence[dict[str, Any]] = field(default=(), compare=False)

    @property
    def failed(self) -> list[str]:
        return [id for id, (status, _) in self.checks.items() if status != "passed"]

    @property
    def messages(self) -> list[str]:
        """The messages of the checks that fail, those by nonsense last."""
        texts = [text for status, text in self.checks.values() if status != "passed"]
        return sorted(texts, key=lambda text: bool(NONSENSE.search(text)))


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
    answer: str
    code: tuple[tuple[int, str], ...]
    mark: int = 0
    options: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    cell: str = ""
    run: str = ""

    @property
    def key(self) -> str:
        """Names the question while the code is the same, wherever it is in the file."""
        rows = [text for _, text in self.code]
        return f"{self.kind}-{hashed((rows, self.cell, self.run, self.answer)):08x}"

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
    firsts      {line of the cell: first line of its statement}
    own         the lines at which statements begin that the learner wrote, in functions
    examples    programs of the docstrings, of a learner who is not trusted the course's
    """

    def __init__(self, exercise: Exercise, cell: cells.Cell, is_trusted: bool = True) -> None:
        self.exercise, self.cell, self.lines = exercise, cell, cell.source.split("\n")
        tree = cells.tree_of(cell.source)
        self.examples = examples_in(tree if is_trusted else cells.tree_of(exercise.stub))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        self.functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        self.statements: dict[int, ast.stmt] = {}
        self.firsts = {n: n for n in range(1, len(self.lines) + 1)}
        for node in sorted(nodes, key=lambda node: node.lineno):
            if self.statements.setdefault(node.lineno, node) is node:
                self.firsts |= dict.fromkeys(range(node.lineno, last_line(node) + 1), node.lineno)
        texts = [[row.strip() for row in rows] for rows in (exercise.stub.split("\n"), self.lines)]
        blocks = difflib.SequenceMatcher(None, texts[0], texts[1], False).get_matching_blocks()
        given = {block.b + i + 1 for block in blocks for i in range(block.size)}
        self.own = [n for n in sorted(self.statements) if n not in given and self.function(n)]

    def function(self, line: int) -> ast.FunctionDef | None:
        """The outermost function around a line of the cell."""
        return next((f for f in self.functions if f.lineno <= line <= (f.end_lineno or 0)), None)

    def at(self, line: int) -> int:
        """The line of the learner's file."""
        return self.cell.line + line - 1

    def old(self, line: int) -> str:
        return self.header(self.statements[line])

    def header(self, node: ast.stmt) -> str:
        is_elif = self.lines[node.lineno - 1].lstrip().startswith("elif ")
        return "el" * is_elif + header(node)

    def shown(self, line: int, new: str = "") -> tuple[tuple[int, str], ...]:
        """The lines of the function around a line, of its docstring the first one only; `new` in
        the place of the statement at that line.
        """
        node, rows = self.function(line), []
        assert node
        doc = node.body[0].lineno if ast.get_docstring(node) else 0
        for n in range(node.lineno, (node.end_lineno or 0) + 1):
            text, first = self.lines[n - 1], self.firsts[n]
            if n == doc < last_line(node.body[0]):
                text += ' ..."""'
            is_rest = n > first and (first == doc or bool(new) and first == line)
            if not text.strip() or "### " in text or is_rest:
                continue
            if new and n == line:
                text = indent_of(text) + new
            rows.append((self.at(n), text))
        return tuple(rows)

    def versions(self, most: int | None = None) -> list[Version]:
        """Plausible mistakes in one statement each, at most so many. Their order is fixed by the
        code: every line comes once before any comes twice.
        """
        text, rows = CellText(self.cell.source), list[tuple[int, int, Change]]()
        names = {function: variables(function) for function in self.functions}
        draw = random.Random(len(self.cell.source))
        for line in self.own:
            node, function = self.statements[line], self.function(line)
            if not function or isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Try):
                continue
            parts = [node] if isinstance(node, ast.Raise) else [node, *parts_of(node)]
            found = [
                change
                for part in parts
                for change in (*changes(part, text), *more_changes(part, names[function], text))
            ]
            draw.shuffle(found)
            rows += [(number, line, change) for number, change in enumerate(found)]
        versions, trivial = dict[tuple[int, str], Version](), dict[tuple[int, str], Version]()
        for _, line, change in sorted(rows, key=lambda row: row[0]):
            if len(versions) == most:
                break
            if version := self._version(line, text, change):
                some = trivial if TRIVIAL.search(version.text) else versions
                some.setdefault((line, version.text), version)
        return [*versions.values(), *trivial.values()][:most]

    def _version(self, line: int, text: CellText, change: Change) -> Version | None:
        start, end, new = change
        lost = text.raw[start:end].count(b"\n") - new.count("\n")
        cell = text.replaced(start, end, new + "\n" * lost)  # lines below keep their numbers
        tree = cells.tree_or_none(cell)
        nodes = (n for n in ast.walk(tree) if isinstance(n, ast.stmt)) if tree else ()
        node = next((node for node in nodes if node.lineno == line), None)
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Yield):
            return None  # it does nothing, as if it was left out
        text_now = self.header(node) if node else self.old(line)
        if text_now == self.old(line) or NOT_WRITTEN.search(text_now):
            return None
        return Version(line, "" if new == "pass" else text_now, cell)

    def with_line(self, line: int, typed: str) -> str:
        """The cell with a typed line in the place of the statement at a line."""
        last = last_line(self.statements[line])
        rows = [indent_of(self.lines[line - 1]) + typed.strip(), *[""] * (last - line)]
        return "\n".join([*self.lines[: line - 1], *rows, *self.lines[last:]])


def examples_in(tree: ast.Module) -> list[str]:
    """Programs of the docstrings that end in an expression with a result."""
    programs = []
    for node in ast.walk(tree):
        doc = isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node)
        rows: list[str] = []
        for example in doctest.DocTestParser().get_examples(doc or ""):
            rows.append(example.source.rstrip("\n"))
            last = cells.tree_or_none(rows[-1])
            is_value = last and last.body and isinstance(last.body[-1], ast.Expr)
            if is_value and example.want and not example.exc_msg and len(rows) <= 10:
                programs.append("\n".join(rows))
    return [text for text in programs if not re.search("rng|seed|random", text)][:MOST_EXAMPLES]


def lines_of(module: ExportedModule, cell: cells.Cell) -> dict[int, int]:
    """{line of the module: the line of this cell that it holds}, both from 1."""
    places = enumerate(module.origin, 1)
    return {n: place[1] + 1 for n, place in places if place and place[0] is cell}


def with_cell(module: ExportedModule, cell: cells.Cell, new: str) -> str:
    """The text of the module with another text, of as many lines, of a cell. Its docstrings stay
    as they are, shortened.
    """
    rows, old, lines = module.text.split("\n"), cell.source.split("\n"), new.split("\n")
    for n, line in lines_of(module, cell).items():
        if rows[n - 1] == old[line - 1]:
            rows[n - 1] = lines[line - 1]
    return "\n".join(rows)


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


def names_read(node: ast.stmt) -> set[str]:
    """The names, attributes and constants that a statement, or the head of a compound one, reads
    and does not define. Those of Python and NumPy do not count, nor small numbers.
    """
    read, own = set[str](), {"self", *dir(builtins), *dir(np), *dir(np.ndarray), "np", *"012"}
    for part in parts_of(node):
        if isinstance(part, ast.Name):
            (read if isinstance(part.ctx, ast.Load) else own).add(part.id)
        elif isinstance(part, ast.arg):
            own.add(part.arg)
        elif isinstance(part, ast.Attribute):
            read.add(part.attr)
        elif isinstance(part, ast.Constant):
            read |= {*re.findall(r"\w+", str(part.value))}
    return read - own


def header(node: ast.stmt) -> str:
    """A statement as one line, or the head of a compound one."""
    text, value = ast.unparse(node).split("\n")[0], getattr(node, "value", None)
    if isinstance(node, ast.Assign | ast.Return) and isinstance(value, ast.Tuple) and value.elts:
        text = text.replace(ast.unparse(value), ast.unparse(value)[1:-1])
    return re.sub(r"'([^'\"\\{}]*)'", r'"\1"', text)


# Texts of messages and values.


def hashed(value: object) -> int:
    return zlib.crc32(repr(value).encode("utf-8", "surrogatepass"))


def numbers_of(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def is_easy(text: str) -> bool:
    """Whether a reader can work out the numbers of an answer."""
    numbers = [n.replace(".", "").strip("-0") for n in NUMBER.findall(text)]
    short = len(numbers) <= 9 and all(len(number) <= 3 for number in numbers)
    return short and len(text) <= LONGEST and "nan" not in text


def alike(a: str, b: str) -> bool:
    """Whether a reader could take two texts for the same: their numbers differ by less than 1 %."""
    pairs = zip(numbers_of(a), numbers_of(b))
    is_near = all(abs(x - y) <= 0.01 * max(abs(x), abs(y), 0.1) for x, y in pairs)
    return is_near and NUMBER.sub("", a) == NUMBER.sub("", b)


def core(message: str) -> str:
    """A check's message without its guess at the cause: up to the part that says what is yours."""
    message = re.split(r" \w+ returns .*; its docstring", message.replace("raises: yours ", ""))[0]
    parts = re.split(r"(: (?=[a-z])|\. (?=[A-Za-z`]))", message)  # not in [[0. 1.]]
    words = re.compile(r"\b(yours?|still|gives?|raised|holds)\b", re.IGNORECASE)
    end = next((n for n, part in enumerate(parts) if words.search(part)), -1)
    if end < 0:
        return parts[0] if len(parts[0]) > 50 else message
    is_rest = re.search(r"raise[sd] \w+Error$|says$|with$|axis", parts[end])
    return "".join(parts[: end + (3 if is_rest else 1)])


def case(message: str) -> str:
    """The start of a message: what is tested, and what it should be."""
    return core(message).partition("yours")[0]


def is_clear(message: str) -> bool:
    """Whether a reader can work out a message: its numbers are short, or the input's."""
    given, _, found = core(message).partition("yours")
    long = {round(float(n), 3) for n in re.findall(r"-?\d+\.\d{3,}", found or given)}
    is_known = long <= {round(n, 3) for n in numbers_of(given)} if found else not long
    return is_known and 30 <= len(core(message)) <= 300 and not UNCLEAR.search(message)


def tells_input(message: str) -> bool:
    """Whether a message has more numbers than what should come out, and what came."""
    given, _, found = message.partition("yours")
    results = [text for text in re.findall(r"(?<![\w.])\d+\.?\d*", found) if float(text)]
    return not results or len(numbers_of(given)) >= len(results) + min(2, len(results))


def names_in(text: str) -> set[str]:
    """The words of a text that tell it from others."""
    return set(re.findall(r"\w+_\w+|[A-Za-z]{4,}", text))


def chosen(answer: str, others: Sequence[str]) -> tuple[str, ...]:
    """The answer among three others, in an order that depends on the texts only."""
    draw = random.Random(hashed((answer, others)))
    options = [answer, *draw.sample(others, min(3, len(others)))]
    draw.shuffle(options)
    return tuple(options)


def told_shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


# The kinds of question.


def effort(question: Question) -> int:
    """The digits that a reader has to look at."""
    return sum(map(str.isdigit, question.text + question.answer))


@dataclass
class Results:
    """What an exercise's code and its versions did, and the questions about it."""

    code: Code
    before: Ran
    ran: list[tuple[Version, Ran]]

    def questions(self) -> list[Question]:
        """The questions, the best first: of a kind those with few digits to work out, and only
        some about a line. Those that are seldom good come where there are few others.
        """
        best, others = list[Question](), list[Question]()
        for kind in KINDS:
            counts = Counter[int]()
            for question in sorted(getattr(self, kind)(), key=effort):
                line = question.mark or int(numbers_of(question.answer)[0])
                counts[line] += 1
                text = f"{question.text} {question.answer}"
                is_poor = counts[line] > MOST_OF_LINE or counts.total() > MOST_OF_KIND
                is_poor |= bool(TRIVIAL.search(text) or NONSENSE.search(text))
                is_poor |= kind == "blame" and not tells_input(question.text)
                is_poor |= [o for o in question.options if "left out" in o] == [question.answer]
                (others if is_poor else best).append(question)
        return best + others[: max(0, ENOUGH - len(best))]

    def near(self, line: int) -> list[tuple[Version, Ran]]:
        """The versions that change the same function."""
        function = self.code.function(line)
        return [row for row in self.ran if self.code.function(row[0].line) is function]

    def asked(self, kind: str, text: str, version: Version, answer: str, **more: Any) -> Question:
        """A question about a changed line; `text` follows the change."""
        old, at = self.code.old(version.line), self.code.at(version.line)
        change = f"changed:\n  - {old}\n  + {version.text}"
        change = change if version.text else f"left out, with pass in its place:\n  - {old}"
        text = text.replace("{change}", f"Line {at} is {change}").replace("{at}", str(at))
        code = self.code.shown(version.line)
        known: dict[str, Any] = {"mark": at, "code": code, "cell": version.cell} | more
        return Question(self.code.exercise.id, kind, text, answer, **known)

    def changed(self) -> Iterator[Question]:
        """A line is changed. What does an example return?"""
        for n, (program, usual) in enumerate(zip(self.code.examples, self.before.values)):
            results = sorted({value for _, ran in self.ran if (value := ran.values[n])})
            results = [value for value in results if value != "None" and is_easy(value)]
            for version, after in self.ran if usual else ():
                answer, others = after.values[n] or "", [usual or ""]
                is_told = bool(re.fullmatch(r"return \w+", version.text))
                is_told |= self.is_told(version, answer) or f"{answer} " in f"{version.text} "
                is_told |= not version.text and not any(numbers_of(answer))
                function = self.code.function(version.line)
                if not function or not (function.col_offset or function.name in program):
                    continue  # what the program calls is not shown
                if answer not in results or alike(answer, others[0]) or is_told:
                    continue
                form = NUMBER.sub("", answer)
                for other in sorted(results, key=lambda one: NUMBER.sub("", one) != form):
                    if not any(alike(other, known) for known in [answer, *others]):
                        others.append(other)
                if len(others) >= 2:
                    rows = program.replace("\n", "\n    ")
                    what = "the last line of this" if "\n" in program else "this"
                    text = f"{{change}}\nWhat does {what} return then?\n    {rows}"
                    said = (f"Your own code returns {usual}.",)
                    more = {"options": chosen(answer, others), "reasons": said, "run": program}
                    yield self.asked("changed", text, version, answer, **more)

    def place(self, version: Version) -> str:
        """A change as an option."""
        text = version.text or f"left out: {self.code.old(version.line)}"
        return f"{self.code.at(version.line)}: {text}"

    def blame(self) -> Iterator[Question]:
        """A check says something. Which change in this function is the cause?"""
        for version, after in self.ran:
            message = next(filter(is_clear, after.messages), "")
            # a result that is another variable can be read off the message
            if not message or re.fullmatch(r"return [\w.]+", version.text):
                continue
            others, answer = dict[str, bool](), self.place(version)  # {change: whether likely}
            is_plain = not NONSENSE.search(message)
            for other, ran in self.near(version.line):
                place = self.place(other)
                is_other = NUMBER.sub("", place) != NUMBER.sub("", answer)  # not by numbers only
                same = any(ran.values) and ran.values == after.values != self.before.values
                if ran.failed and is_other and not same and not could_say(ran, after, message):
                    others[place] = not (is_plain and NONSENSE.search(ran.messages[0]))
            likely = sum(others.values()) > 1
            best = sorted(p for p in others if others[p] or not likely and len(self.code.own) < 3)
            names = names_in(answer) - names_in(" ".join(best))
            is_told = names & names_in(message) or self.is_told(version, message)
            if len(best) > 1 and not is_told:
                said = core(message)
                text = f"One line was changed, and a check says:\n  {said}\nWhich change was it?"
                reasons = (f"The whole message: {message}",) * (said != message)
                failed = next(id for id, (_, said) in after.checks.items() if said == message)
                more = {"mark": 0, "reasons": reasons, "run": failed}
                options = chosen(answer, best)
                yield self.asked("blame", text, version, answer, options=options, **more)

    def is_told(self, version: Version, message: str) -> bool:
        """Whether a message has a new number of a change, or quotes the line."""
        old = self.code.old(version.line)
        now, before = (Counter(map(abs, numbers_of(text))) for text in (version.text, old))
        return old in message or not (now - before).keys().isdisjoint(map(abs, numbers_of(message)))

    def missing(self) -> Iterator[Question]:
        """A line is missing. It is typed, and the checks decide."""
        for line in self.code.own:
            answer = self.code.old(line)
            rows = [row for row in self.ran if row[0].line == line and row[1].failed]
            is_long = len(answer) > LONGEST_LINE or answer.startswith("raise ")
            if not rows or is_long or not WORK.search(re.sub("^for .* in ", "", answer)):
                continue
            shown = self.code.shown(line, "?")
            text = "\n".join(text for _, text in shown)
            is_known = names_read(self.code.statements[line]) <= {*re.findall(r"\w+", text)}
            if len(self.code.own) < 2 or answer.removeprefix("return ") in text or not is_known:
                continue
            wrong = {m: v.text for v, r in rows if v.text for m in r.messages[:1] if is_clear(m)}
            reasons = tuple(f"{text}\n  {message}" for message, text in wrong.items())[:3]
            text = "Line {at} is missing. Which line belongs there, so that all checks pass?"
            more = {"code": shown, "reasons": reasons, "cell": "", "run": rows[0][1].failed[0]}
            yield self.asked("missing", text, rows[0][0], answer, **more)

    def shape(self) -> Iterator[Question]:
        """What is the shape of a variable, or of the result, for arguments of these shapes?"""
        shapes: dict[tuple[int, str, str], set[str]] = {}
        for call in self.before.calls:
            found = [f for f in self.code.functions if f.name == call["function"]]
            told, lengths = told_arguments(call)
            if len(found) != 1 or len(lengths - {1}) < 3 or VALUES.search(ast.unparse(found[0])):
                continue
            last = {(line, name): shape for line, name, _, shape in call["steps"] if shape}
            for (line, name), shape in last.items():
                text = f"{call['function']} is called with {told}.\nWhat is the shape of "
                shapes.setdefault((line, name, text), set()).add(told_shape(shape))
        for (line, name, text), answers in shapes.items():
            answer = min(answers)
            is_plain = len(set(numbers_of(answer))) < 2 or answer[1:-1] in text
            if line in self.code.own and len(answers) == 1 and not is_plain:
                said = [
                    f"{other or 'the result'} has shape {min(known)} after line {self.code.at(n)}"
                    for (n, other, same), known in shapes.items()
                    if same == text
                ]
                text += f"{name} after line {{at}}?" if name else "the result?"
                version = Version(line, "", "")
                yield self.asked("shape", text, version, answer, reasons=tuple(said))


def could_say(ran: Ran, after: Ran, message: str) -> bool:
    """Whether a change could have had a check say this, too, or else ends it in another case."""
    error = (re.findall(r"\w+Error(?!: .)", core(message)) or ["no error"])[0]
    texts = [ran.checks[id][1] for id in ran.failed]
    cases = [ran.checks[id][1] for id in ran.failed if after.checks[id][1] == message]
    ends = (not re.search(r"\w+Error", t) and not alike(case(t), case(message)) for t in cases)
    return any(ends) or any(alike(core(t), core(message)) or error in t for t in texts)


def told_arguments(call: dict[str, Any]) -> tuple[str, set[int]]:
    """The arguments of a call in words, and the lengths of their axes; none where one cannot be
    told.
    """
    parts, lengths = [], set[int]()
    for name, text in call["arguments"].items():
        if (shape := call["shapes"][name]) is not None:
            parts.append(f"{name} of shape {told_shape(shape)}")
            lengths |= set(shape)
        elif text is None:
            return "", set()
        elif text != "None":
            parts.append(f"{name} = {text}")
    return ", ".join(parts), set() if 0 in lengths else lengths
