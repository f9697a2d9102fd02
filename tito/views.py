"""How values look in a terminal: values in, rich renderables out.

Nothing here prints, reads or decides.
"""

import re
import shlex
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

STYLES = {
    "passed": "green",
    "failed": "red",
    "error": "red",
    "timeout": "red",
    "memory": "red",
    "crashed": "red",
    "tampered": "red",
    "not run": "yellow",
    "stub": "cyan",
    "new": "dim",
    "started": "cyan",
    "stale": "yellow",
    "skipped": "magenta",
    "helped": "magenta",
    "tried": "green",
    "ok": "green",
    "problem": "red",
    "optional": "yellow",
}
WORDS = {
    "passed": "pass",
    "not run": "not run",
    "unwritten": "todo",
}  # of a status; of the others: FAIL
FIRST = 3  # failures shown in full
MOST_LINES = 12  # of what a demonstration prints are shown
FIRST_SENTENCE = re.compile(r".*?(?:\.(?=\s)|\Z)", re.S)
EMPHASIS = re.compile(r"(?<![\w*])(\*\*?)([^\s*][^*]*)\1(?![\w*])")
WORD = re.compile(r"\s*([^\s`]*`[^`]*`\S*|\S+)")
VALUES = re.compile(
    r" (?=yours\b|should\b)"
)  # a message that is too long is folded here rather than inside a value


def count(number, word):
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def indented(renderable, by=2):
    return Padding(renderable, (0, 0, 0, by), expand=False)


def unbroken(*parts, indent=0):
    """A line with something to copy or click: never folded by us, so that a narrow
    terminal's own folding keeps it whole.
    """
    return Text.assemble(" " * indent, *parts, no_wrap=True, overflow="ignore")


@dataclass
class Pieces:
    """Pieces of text, a space between: as many on a line as fit, so that a path or a value stays
    whole. One that is too long is folded at its spaces.
    """

    pieces: list
    indent: int = 0

    def __rich_console__(self, console, options):
        room, lines = options.max_width - self.indent, []
        for piece in self.pieces:
            piece = piece if isinstance(piece, Text) else Text(piece)
            if lines and lines[-1].cell_len + 1 + piece.cell_len <= room:
                lines[-1].append(" ").append(piece)
            else:
                lines.append(piece.copy())
        for line in lines:
            for folded in line.divide(ends(line.plain, room)):
                folded.rstrip()
                yield unbroken(folded, indent=self.indent)


def ends(text, width, indent=0):
    """Where to end the lines of `text`, as offsets: at spaces, never inside a word, a path or a
    `command`; so a line can be wider than `width`.

    indent  of all lines but the first
    """
    offsets, used = [], 0
    for word in WORD.finditer(text):
        size = cell_len(word.group())
        if used and used + size > width:
            offsets.append(word.start(1))
            size, used = cell_len(word.group(1)), indent
        used += size
    return offsets


def folded(text, width, indent=0):
    """`text` as lines of `width`, those that go on with a long one indented."""
    lines = []
    for line in text.split("\n"):
        offsets = [0, *ends(line, width, indent), len(line)]
        parts = [line[start:end].rstrip() for start, end in zip(offsets, offsets[1:])]
        lines += [" " * (indent if n else 0) + part for n, part in enumerate(parts)]
    return "\n".join(lines)


def verdict(result, hints, whole=True, following=None, key=None, course=None, end=()):
    """A tested lesson, below its `heading`.

    hints      {exercise: hints not yet shown}
    whole      with what goes on in the lesson, not only the sum
    following  the command to type next
    key        the key that gives the next hint of the first open exercise, where keys work
    course     (lessons that passed, lessons), to be drawn as a bar, or None
    end        renderables that a lesson which passed ends on
    """
    parts = []
    checks_to_show = result.asked if result.partial else result.checks if result.asked else []
    if whole or not result.passed:
        parts += _exercises(result, _in_order(checks_to_show, result.changed))
        if result.own_checks and result.asked:
            parts += [Text("\nyour own checks (they count for nothing)")] + [
                _check_line(c) for c in result.own_checks
            ]
        failures = _failures(result, _hint_lines(result, hints, key))
        parts += failures if parts else failures[1:]
    return Group(*parts, *_sum(result, following, whole, course, end))


def ready(folder, source):
    """A new workspace of the course `source`: how to enter it, and each lesson that one can begin
    with.
    """
    ways = [entry for entry in source.lessons if not entry.declared.prerequisites]
    width = max(len(entry.name) for entry in ways)
    lines = [
        unbroken(
            (f"  tito start {entry.name:{width}}", "bold"),
            f"  {entry.declared.meta['summary'].rstrip('.')}",
        )
        for entry in ways
    ]
    return Group(
        Text(f"{folder} is ready: {count(len(source.lessons), 'lesson')} of {source.name}."),
        unbroken(
            "next: ", (f"cd {shlex.quote(str(folder))} && . bin/activate-tinytorch.sh", "bold")
        ),
        Text("then, to begin:" if len(ways) == 1 else "then one of these; none needs another:"),
        *lines,
    )


def checked(checks):
    """How many of a lesson's checks passed, for while its demonstrations still run."""
    done = sum(one.passed for one in checks)
    points, most = sum(one.points for one in checks), sum(one.max_points for one in checks)
    return Group(
        Text(
            f"{done} of {count(len(checks), 'check')} right, {points} of {count(most, 'point')}",
            "green" if done == len(checks) else "yellow",
        ).append("; running the demonstrations ...", "dim"),
        Text(),
    )


def predictions(said):
    """What a learner predicted, {question: answer}, to look back at."""
    rows = []
    for asked, answer in said.items():
        rows += [indented(question(asked)), Pieces([Text("you said:", "dim"), answer], 4)]
    return Group(Text("your predictions", "bold cyan"), *rows, Text())


def heading(result):
    """Which lesson is told about."""
    return Group(
        unbroken((f"{result.number:02} {result.lesson}", "bold"), "  ", (result.source, "dim")),
        Text(),
    )


def _in_order(checks, changed):
    """{exercise: its checks}, those first whose code changed since the run before."""
    groups = {}
    for check in checks:
        groups.setdefault(check.exercise, []).append(check)
    return {name: groups[name] for name in sorted(groups, key=lambda name: name not in changed)}


def _exercises(result, groups):
    """What became of each exercise: those that are right, wait or are to be written in a line for
    all, the others with their checks.
    """
    if result.partial:
        return [_exercise(name, checks) for name, checks in groups.items()]
    right = [name for name, checks in groups.items() if all(c.passed for c in checks)]
    to_write = [name for name in groups if name in result.stubs]
    parts, waiting = [], {}
    if right and len(right) + len(to_write) == len(groups):  # nothing between the two
        head = Text(f"{count(len(right), 'exercise')} right", "green")
        return [head.append(f", {len(to_write)} to write", "dim") if to_write else head]
    if right:
        parts.append(Text(f"{count(len(right), 'exercise')} right", "green"))
    for name, checks in groups.items():
        if name in right or name in to_write:
            continue
        if all(c.unwritten or c.waits for c in checks):
            waiting.setdefault(checks[0].waits or checks[0].unwritten, []).append(name)
        else:
            parts.append(_exercise(name, checks))
    for cause, names in waiting.items():
        parts.append(
            Pieces([Text(f"{', '.join(names)}", "bold"), Text(f"waits for {cause}", "dim")])
        )
    if to_write and len(to_write) < len(groups):
        parts.append(Text(f"{count(len(to_write), 'exercise')} to write", "dim"))
    return parts


def with_your_code(written=True):
    """The title of what demonstrations show; `written`: with something that the learner wrote."""
    return Text("with your code" if written else "above the first exercise", "bold cyan")


def section(heading):
    """The section of the chapter in which the demonstrations stand that are shown next."""
    return Text(plain(heading), "bold")


def question(text):
    """What the chapter asks to predict."""
    return Text(EMPHASIS.sub(r"\2", plain(text)), "italic")


def result(one, link, asked=False):
    """What one demonstration shows with the learner's code, a `results.Result`.

    link  a function that makes a path one to click
    asked whether the question that it answers stands above it already
    """
    lines = [indented(question(one.question))] if one.question and not asked else []
    if one.text:
        lines.append(indented(Text(_clip(one.text, MOST_LINES))))
    for picture in one.pictures:
        lines.append(Pieces([Text("picture", "dim"), link(picture)], 2))
    if one.pictures and one.alt:
        lines.append(indented(Text(FIRST_SENTENCE.match(one.alt)[0], "dim"), 4))
    return Group(*lines, Text())


def payoffs(every, link):
    """What a lesson ends on."""
    return Group(
        Text("with your code", "bold cyan"), *(result(one, link, asked=True) for one in every)
    )


def results_page(page, left_out, link, key=None):
    """Where everything is that the demonstrations of a lesson show.

    left_out  how many of this run are only there
    key       the key that opens it, where keys work
    """
    more = f"{count(left_out, 'more result')}, and all before:" if left_out else "all results:"
    opens = [Text(f"(key {key} opens it)", "dim")] if key else []
    return Group(Pieces([Text(more, "dim"), link(page), *opens]), Text())


def _exercise(name, checks):
    points, most = sum(c.points for c in checks), sum(c.max_points for c in checks)
    head = Text.assemble(
        (name, "bold"),
        (f"  {points} of {count(most, 'point')}", "green" if points == most else "dim"),
    )
    if all(c.unwritten for c in checks):  # one line is enough for what is not written yet
        return head.append(
            "  to write"
            if checks[0].unwritten == name
            else f"  to write, after {checks[0].unwritten}",
            "dim",
        )
    if len({c.waits for c in checks}) == 1 and checks[0].waits:
        return head.append(f"  waits for {checks[0].waits}", "dim")
    return Group(head, *(_check_line(c) for c in checks))


def _check_line(check):
    word, style = WORDS.get(check.status, "FAIL"), STYLES.get(check.status, "dim")
    if check.unwritten or check.waits:
        word, style = ("todo" if check.unwritten == check.exercise else "wait"), "dim"
    points = f"  ({check.points} of {check.max_points})" if check.max_points > 1 else ""
    waits = (
        f"  (waits for {check.waits})"
        if check.waits
        else f"  (needs {check.unwritten})"
        if word == "wait"
        else ""
    )
    return Text.assemble("  ", (word, style), "  ", check.name, (points + waits, "dim"))


def _failures(result, hint_line):
    """The first failures in full, those of one exercise together and those of changed code first,
    and a line for each other exercise; or, when nothing is wrong, the next exercise to write.
    """
    # What is wrong wants an explanation; of what is not written yet, the first exercise is enough.
    telling = [c for c in result.asked + result.own_checks if c.wrong]
    groups = _in_order(telling, result.changed)
    telling = [check for checks in groups.values() for check in checks]
    unwritten = [c.unwritten for c in result.asked if c.unwritten]
    if unwritten and not telling:
        first = unwritten[0]
        return [
            Text(),
            Pieces(
                [
                    Text.assemble(("Next to write: ", "bold"), f"exercise {first},"),
                    result.places.get(first, result.source),
                ]
            ),
            *hint_line(first),
        ]
    parts, full = [], _in_order(telling[:FIRST], result.changed)
    for exercise, checks in full.items():
        place = (
            [f"exercise {exercise},", result.places.get(exercise, result.source)]
            if exercise
            else ["your own check"]
        )
        parts += [
            Text(),
            Pieces([Text(piece, "dim") for piece in place]),
            *(line for check in checks for line in _failure(check)),
            *hint_line(exercise),
        ]
    if rest := [checks[0] for exercise, checks in groups.items() if exercise not in full]:
        parts += [Text(), *(_failure_line(check) for check in rest)]
    return parts


def _failure_line(check):
    """A failure in a line: its exercise, and how its message begins."""
    name, message = check.exercise or check.name, check.message.split("\n")[0]
    return Pieces([Text(f"{name}:", "red"), Text(message, "dim")])


def _failure(check):
    lines = [
        Text(check.name, "bold red"),
        *(Pieces(VALUES.split(line), 3) for line in check.message.split("\n")),
    ]
    if check.where:
        cell = f" cell {check.where['cell']}" if check.where["cell"] else ""
        line = f":{check.where['line']}" if check.where["line"] else ""
        lines.append(
            Pieces(
                [
                    Text.assemble(("at ", "dim"), f"{check.where['path']}{cell}{line}"),
                    Text(f" {check.where['code'] or ''}", "cyan"),
                ],
                3,
            )
        )
    if check.output.strip():
        lines.append(
            indented(Text.assemble(("printed ", "dim"), _clip(check.output.strip(), 10)), 3)
        )
    return lines


def _hint_lines(result, hints, key):
    """A function that gives the line about an exercise's hints, or none."""
    first = next((check.exercise for check in result.checks if not check.passed), None)

    def line(exercise):
        if (left := hints.get(exercise, 0)) <= 0:
            return []
        how = (
            f"key {key}"
            if key and exercise == first
            else f"tito hint {result.lesson} {exercise.removeprefix(result.lesson + '-')}"
        )
        return [
            unbroken((f"{count(left, 'hint')} left: ", "dim"), (how, "bold")),
            *in_book(result.book.get(exercise)),
        ]

    return line


def _clip(text, lines):
    rows = text.splitlines()
    return "\n".join(rows[:lines]) + (
        f"\n... {len(rows) - lines} lines more" if len(rows) > lines else ""
    )


def _bar(done, of, width=20):
    full = done * width // of if of else 0
    return Text.assemble(("█" * full, "green"), ("░" * (width - full), "dim"))


def bars(right, of, course):
    """How far one is in a lesson and in the course."""
    parts = [Text.assemble("lesson ", _bar(right, of), f" {right} of {count(of, 'exercise')} ")]
    if course:
        parts.append(
            Text.assemble("course ", _bar(*course), f" {course[0]} of {count(course[1], 'lesson')}")
        )
    return Pieces(parts)


def _sum(result, following, whole, course, end):
    """The last lines: what was earned, why it is not all, what was overwritten, what comes next."""
    saved = [Pieces([Text(line, "dim")]) for line in result.saved]
    if not result.asked:
        return [*_untested(result), *saved]
    passed = sum(c.passed for c in result.checks)
    figures = (
        f"{result.points} of {count(result.max_points, 'point')}, {passed} of "
        f"{count(len(result.checks), 'check')}, {result.seconds:.2f} s"
    )
    reason = result.reason
    if result.partial and result.asked_passed and not result.passed:
        word, style, reason = (
            "selected",
            "yellow",
            f"{count(len(result.asked), 'selected check')} passed. The whole "
            f"lesson: tito test {result.lesson}",
        )
    elif any(c.unwritten for c in result.checks) and all(
        c.passed or c.unwritten for c in result.checks
    ):
        word, style, reason = "so far", "cyan", "" if passed else reason  # the bar tells the rest
    else:
        word, style = result.verdict, STYLES.get(result.verdict, "red")
    lines = [Text.assemble("\n", (word, f"bold {style}"), f"  {figures}")]
    lines += [Pieces([line]) for line in (reason, result.remedy) if line]
    if result.answers:
        lines.append(Pieces([Text(for_a_person(result.answers), "dim")]))
    if whole and not result.partial:
        groups = _in_order(result.checks, ())
        right = sum(all(c.passed for c in checks) for checks in groups.values())
        lines.append(bars(right, len(groups), course))
    if result.passed and end:
        lines += [Text(), *end]
    if result.passed and following:
        lines.append(Text.assemble("next: ", (following, "bold")))
    return lines + saved


def for_a_person(answers):
    """What no check judges: "1 answer is for a person to judge: why-softmax (written)".

    answers  {question: whether an answer is written}
    """
    be = "is" if len(answers) == 1 else "are"
    names = (f"{name} ({'written' if is_ else 'empty'})" for name, is_ in answers.items())
    return f"{count(len(answers), 'answer')} {be} for a person to judge: {', '.join(names)}"


def _untested(result):
    """Why a lesson could not be tested: the cause first.

    There is no score; what the last run earned stays.
    """
    code, _, mark = result.excerpt.partition("\n")
    reason = Pieces([result.reason.removesuffix(f": {code[:80]}") if code else result.reason])
    excerpt = (
        [unbroken((code, "cyan"), indent=4), *[unbroken((mark, "red"), indent=4)] * bool(mark)]
        if code
        else []
    )
    return [
        reason,
        *excerpt,
        *([Pieces([result.remedy])] if result.remedy else []),
        Text("\nnot tested", "bold red"),
    ]


def totals(verdicts):
    """The last line of a test of several lessons."""
    passed = sum(v.passed for v in verdicts)
    return Text.assemble(
        "\n",
        (
            f"{passed} of {count(len(verdicts), 'lesson')} passed",
            "bold green" if passed == len(verdicts) else "bold red",
        ),
        f", {sum(v.points for v in verdicts)} of {sum(v.max_points for v in verdicts)} points",
    )


def tested(result):
    """A tested lesson in one line."""
    if not result.asked:
        return Text.assemble(
            f"{result.number:02} {result.lesson:<14}",
            ("not tested: ", STYLES.get(result.verdict, "red")),
            result.reason,
        )
    return Text.assemble(
        f"{result.number:02} {result.lesson:<14}",
        (f"{result.verdict:<8}", STYLES.get(result.verdict, "red")),
        f"{result.points} of {count(result.max_points, 'point')}",
    )


def status(root, rows, step):
    """Where one stands, as a table, and what to do next."""
    title = unbroken((root.name, "bold"), f" {root.kind} in {root.path}")
    table = Table(
        "",
        "lesson",
        "state",
        "points",
        "hints",
        "last run",
        box=None,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )
    for column in table.columns:  # a narrow terminal folds what is long, and loses nothing
        column.overflow, column.no_wrap = "fold", column.header in ("", "state", "points")
    for row in rows:
        table.add_row(
            f"{row.number:02}",
            row.name,
            Text(row.state, STYLES[row.state]),
            f"{row.points} of {row.max_points}",
            str(row.hints_used or ""),
            ago(row.last_run) + _since(row),
        )
    notes = [
        Text(f"{row.name}: {for_a_person(row.answers)}", "dim")
        for row in rows
        if row.answers and row.state not in ("new", "skipped")
    ]
    if step:
        last = Text.assemble("\n", f"{step[1]}\nnext: ", (step[0], "bold"))
    else:
        last = Text("\nEvery lesson is done.", "green")
    return Group(title, "", table, *notes, last)


def _since(row):
    """What happened since the last run of a lesson, behind its time."""
    if row.state == "skipped" or not row.last_run:
        return ""
    edited = [*(["edited"] if row.edited else []), *(f"{name} changed" for name in row.below[:2])]
    more = " and more" * (len(row.below) > 2)
    return f", {', '.join(edited)}{more} since" if edited else ""


def ago(when):
    """A time such as 2026-11-20T17:30:00, told shortly."""
    if not when:
        return ""
    try:
        seconds = (datetime.now() - datetime.fromisoformat(when)).total_seconds()
    except (ValueError, TypeError):
        return when
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), word)} ago"
    return "just now"


def lesson_card(entry, place, needs, first, line):
    """What `tito start` shows: the file to open, what it needs, where to begin (exercise
    `first`, on that line of a script).
    """
    lesson = entry.declared
    parts = [
        Text.assemble((f"{entry.number:02} {lesson.title}", "bold"), f"  {lesson.meta['summary']}"),
        Text(
            f"about {lesson.meta['hours']:g} hours, difficulty {lesson.meta['difficulty']} of 5, "
            f"{count(len(lesson.exercises), 'exercise')}, {lesson.points} points"
            + f", {count(len(lesson.questions), 'question')}"
            * bool(lesson.questions),
            "dim",
        ),
    ]
    for name in needs:
        parts.append(
            Text.assemble(
                ("needs ", "yellow"),
                f"{name}, which has not passed: ",
                (f"tito start {name}", "bold"),
                ", or for now ",
                (f"tito skip {name}", "bold"),
            )
        )
    parts += [Text(), unbroken("open  ", place)]
    if any(cell.alt for cell in lesson.source.cells) and not entry.notebook.exists():
        parts.append(
            Pieces(
                [
                    Text.assemble(
                        "to see its pictures: ", (f"tito notebook {entry.name}", "bold"), ","
                    ),
                    "or Run Cell in VS Code",
                ]
            )
        )
    if first:
        parts.append(
            Pieces(
                [
                    f"begin with exercise {first}" + ("," if line else ""),
                    *([f"line {line}"] if line else []),
                ]
            )
        )
    parts.append(
        Pieces(
            [
                Text.assemble(
                    "then  ", (f"tito watch {entry.name}", "bold"), "  tests at each save; "
                ),
                Text.assemble((f"tito test {entry.name}", "bold"), "  once"),
            ]
        )
    )
    return Group(*parts)


def link(root, place):
    """A place in a file as a link that terminals and editors open: "modules/.../x_dev.py:12"."""
    path = root.path / place.split(":")[0].split(" cell ")[0]
    return Text(place, f"bold link {path.as_uri()}")


def hint(passage, key=None):
    """A hint, and how to get the next: by `key`, where keys work."""
    how = (
        f"key {key}"
        if key
        else f"tito hint {passage.lesson} {passage.exercise.removeprefix(passage.lesson + '-')}"
    )
    footer = (
        "that was the last one"
        if passage.level == passage.of
        else f"{passage.of - passage.level} more: {how}"
    )
    again = " (shown before)" if passage.again else ""
    return Group(
        Text.assemble((f"{passage.exercise}, hint {passage.level} of {passage.of}{again}", "bold")),
        indented(Text(plain(passage.text))),
        Text(footer, "dim"),
        *in_book(passage.address),
    )


def in_book(address):
    """The line that says where an exercise stands in the book; none without an address."""
    return [unbroken(("in the book: ", "dim"), (address, "bold"))] if address else []


@dataclass
class Columns:
    """Two texts with their titles: side by side where both fit, else one above the other."""

    left: tuple  # (title, text)
    right: tuple
    gap: int = 4

    def __rich_console__(self, console, options):
        sides = self.left, self.right
        widths = [max(map(cell_len, [title, *text.split("\n")])) for title, text in sides]
        if not console.is_terminal or sum(widths) + self.gap > options.max_width:
            for title, text in sides:
                yield Text(title, "bold cyan")
                yield Text(f"{text}\n")
            return
        table = Table.grid(padding=(0, self.gap, 0, 0))
        for width in widths:
            table.add_column(no_wrap=True, width=width)
        table.add_row(*(Text(title, "bold cyan") for title, _ in sides))
        table.add_row(*(Text(text) for _, text in sides))
        yield table
        yield Text()


def comparison(done):
    """Two solutions of an exercise."""
    return Group(
        *(Text(f"{sentence}.", "dim") for sentence in done.saved),
        unbroken((done.exercise, "bold"), "  ", (done.place, "dim")),
        Text(),
        Columns(("yours", done.yours), ("the solution", done.solution)),
    )


def term(entry):
    """A term of the course: what it means, where it is explained and used, PyTorch's name."""
    lines = [f"{entry.number:02} {entry.lesson}: {entry.section}"]
    if entry.used:
        lines.append(f"also in: {', '.join(entry.used)}")
    if entry.pytorch:
        lines.append(f"in PyTorch: {entry.pytorch}")
    return Group(
        Text(entry.term, "bold"),
        indented(Text(re.sub(r"\*+|`", "", plain(entry.sentence)))),
        *(indented(Text(line, "dim")) for line in lines),
    )


def terms(entries):
    """Every term, with the lesson that explains it."""
    table = Table("term", "lesson", box=None, padding=(0, 2, 0, 0))
    for entry in entries:
        table.add_row(entry.term, f"{entry.number:02} {entry.lesson}")
    return Group(table, Text('one of them: tito word "TERM"', "dim"))


def plain(markdown):
    """Markdown as it reads in a terminal: a paragraph on one line, formulas without their dollars,
    and with the signs that TeX's words stand for.
    """
    parts, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        if line.startswith("```"):
            parts.append("")
        elif fenced or not line or not parts or not parts[-1]:
            parts.append(line)
        else:
            parts[-1] += f" {line.strip()}"
    return re.sub(r"\$+([^$]+)\$+", lambda found: formula(found[1]), "\n".join(parts)).strip()


SIGNS = {"cdot": "·", "times": "×", "dots": "…", "ldots": "…", "le": "≤", "ge": "≥", "sum": "Σ"}
SIGNS |= {"partial": "∂", "lambda": "λ", "sigma": "σ", "approx": "≈"}


def formula(tex):
    """A formula's TeX as one types it: `\\frac{1}{2\\sqrt{a}}` is 1 / (2√a)."""

    def operand(text):
        return text if re.fullmatch(r"-?[\w.]+", text) else f"({text})"

    tex = re.sub(r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], found[0]), tex)
    tex = re.sub(r"\\(?:mathrm|text|mathbf|operatorname){([^{}]*)}", r"\1", tex)
    tex = re.sub(r"\\sqrt{([^{}]*)}", lambda found: f"√{operand(found[1])}", tex)
    tex = re.sub(r"\\frac{([^{}]*)}{([^{}]*)}", lambda m: f"{operand(m[1])} / {operand(m[2])}", tex)
    tex = re.sub(r"([_^]){([^{}]*)}", lambda m: m[1] + operand(m[2]), tex)
    tex = re.sub(r"\\[,;! ]", " ", tex)
    return re.sub(r"\\([A-Za-z]+)", r"\1", tex)


def doctor(findings):
    table = Table("", "", "", box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        words = Text(finding.found)
        if finding.remedy:
            words.append(f"\n{finding.remedy}", "yellow")
        table.add_row(Text(finding.state, STYLES[finding.state]), finding.what, words)
    return table


def milestones(rows):
    """The milestones, as a table, and what to do next."""
    table = Table(
        "",
        "",
        "milestone",
        "state",
        "bar",
        "yours",
        "waits for",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(
            f"{row.number:02}",
            str(row.year),
            row.name,
            Text(row.state, STYLES[row.state]),
            _figures(row.bars()),
            _figures({n: text for n, text in row.figures(row.measured).items() if n in row.bars()}),
            Text(_some(row.open), "yellow"),
        )
    following = next((row for row in rows if not row.open and row.state != "passed"), None)
    last = (
        Text.assemble("\nnext: ", (f"tito milestone run {following.name}", "bold"))
        if following
        else Text()
    )
    return Group(table, last)


def _some(names):
    return (
        ", ".join(names) if len(names) < 4 else f"{', '.join(names[:2])} and {len(names) - 2} more"
    )


def milestone_card(program):
    """What is about to be run."""
    return Text.assemble(
        (f"{program.year} {program.title}", "bold"), f"\nbar: {_figures(program.bars())}", "\n"
    )


def milestone(result, picture):
    """What came of a milestone. `picture` is a link to it, or None."""
    explanation = (
        [f"{_figures(result.figures(result.measured))}  {result.seconds:.1f} s", result.reason]
        if result.measured
        else [result.reason]
    )
    lines = [
        Text(),
        Pieces(
            [
                Text.assemble(
                    (result.verdict, f"bold {STYLES[result.verdict]}"), f"  {explanation[0]}"
                )
            ]
        ),
        *(Pieces([line]) for line in explanation[1:] if line),
    ]
    command = result.remedy.startswith("tito ")
    lines += [
        unbroken("next: ", (result.remedy, "bold")) if command else Pieces([result.remedy])
    ] * bool(result.remedy)
    if picture:
        lines.append(unbroken("picture: ", picture))
    return Group(*lines)


def _figures(texts):
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def check_table(findings, questions):
    """What `tito check` found: a row per lesson, a column per question."""
    table = Table("lesson", *questions, box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in dict.fromkeys(finding.lesson for finding in findings):
        answers = {finding.question: finding for finding in findings if finding.lesson == name}
        table.add_row(name, *(_answer(answers.get(question)) for question in questions))
    return table


def _answer(finding):
    if not finding:
        return Text("not reached", "dim")
    words = (
        f"{finding.right} of {finding.cases}"
        if finding.cases != 1
        else "yes"
        if finding.ok
        else "no"
    )
    return Text(words, "green" if finding.ok else "bold red")


def sizes(rows):
    """How long the lessons are, in lines, and how much of the library's code the learner writes."""
    table = Table(
        "lesson",
        "chapter",
        "code",
        "learner's",
        "share",
        "terms",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(
            row.lesson,
            f"{row.chapter:,}",
            str(row.code),
            str(row.learner),
            f"{row.share:.1%}",
            str(row.terms),
        )
    if len(rows) > 1:
        code, learner = sum(row.code for row in rows), sum(row.learner for row in rows)
        table.add_row(
            "all",
            f"{sum(row.chapter for row in rows):,}",
            str(code),
            str(learner),
            f"{learner / code:.1%}",
            str(sum(row.terms for row in rows)),
        )
    return Group(
        Text(
            "\nlines of the chapter, of the module's code, and of those the learner's; "
            "terms introduced",
            "dim",
        ),
        table,
    )


def check_problems(findings):
    lines = []
    for finding in findings:
        if finding.problems:
            lines += [
                Text(f"\n{finding.lesson}, {finding.question}:", "bold red"),
                *(indented(Text(problem)) for problem in finding.problems),
            ]
        if finding.survivors:
            share = finding.right / finding.cases
            lines += [
                Text(
                    "\n"
                    f"{finding.lesson}: {share:.1%} of the mutations are "
                    "caught; no check notices",
                    "bold",
                ),
                *(indented(Text(survivor)) for survivor in finding.survivors),
            ]
    return Group(*lines)


def book(site):
    """A finished book in one line."""
    ran = f", {len(site.ran)} of its programs run anew" if site.ran else ""
    return (
        f"{site.path / 'index.html'}: the {site.edition}'s edition, "
        f"{count(site.pages, 'page')}, {site.seconds:.1f} s{ran}."
    )


def printed_book(printed):
    """A book as a PDF in one line."""
    return (
        f"{printed.path}: {count(printed.pages, 'page')} of {printed.paper}, "
        f"{printed.size / 1e6:.1f} MB, {printed.seconds:.1f} s."
    )


def update(done):
    """What an update of the course changed, and what to do now."""
    if not done.changed:
        return Text(f"Edition {done.after} is what you have; nothing was changed.")
    title = f"edition {done.before} -> {done.after}" if done.before != done.after else done.after
    lines = [Text.assemble((title, "bold"), f"  {count(done.changed, 'file')} changed")]
    groups = {
        "new lessons": done.added,
        "no longer in the course, your files stay": done.gone,
        "renumbered": [f"{name} -> {folder}" for name, folder in done.renumbered.items()],
        "set aside, the exercise is gone": [
            f"{name} in {path}" for name, path in done.aside.items()
        ],
        "the task changed, look at your code": done.tasks,
        "your edits of the course's own text, replaced": done.replaced,
        "to test again": [f"tito test {name}" for name in done.test],
    }
    for title, rows in groups.items():
        if rows:
            lines += [Text(f"{title}:"), *(unbroken(row, indent=2) for row in rows)]
    lines.append(
        Pieces([f"Everything overwritten is in {done.backup};", "`tito undo` takes this back."])
    )
    return Group(*lines)
