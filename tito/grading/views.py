"""How grading looks in a terminal: values in, rich renderables out.

Nothing here prints, reads or decides.
"""

import re
from dataclasses import replace
from decimal import Decimal

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tito.grading.gradebook.html_pages import visible
from tito.grading.gradebook.late import shown, tidy
from tito.grading.gradebook.rubric import WAITING
from tito.views import count

HIDING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)  # control, direction, halves of characters
DOUBTS = 20  # overrides that are named after a run; `gradebook overrides` has them all
NAMED = 10  # late ones that a summary names
CHECKS = 5  # of a change that are named; `--json` has them all


def plain(text, longest=200):
    """Text of a learner's as a terminal can show it on one line: what moves the cursor or turns the
    direction becomes a question mark.
    """
    text = HIDING.sub("?", str(text))
    return text if len(text) <= longest else text[: longest - 3] + "..."


def class_summary(progress, level, where):
    """What a run of `tito grade` did: how many submissions, at which rate and isolation level, what
    became of the lessons.
    """
    rate = (
        f", {progress.graded / progress.seconds:.1f} a second"
        if progress.graded and progress.seconds
        else ""
    )
    parts = [
        Text(
            f"{progress.graded} of {progress.total} submissions graded in "
            f"{progress.seconds:.1f} s{rate}; {progress.unchanged} were graded already."
        ),
        Text(f"isolation: {level}; gradebook: {where}", "dim"),
    ]
    if progress.verdicts:
        table = Table("verdict", "lessons", box=None, pad_edge=False)
        for verdict, number in sorted(progress.verdicts.items(), key=lambda pair: -pair[1]):
            table.add_row(verdict, str(number))
        parts.append(table)
    return Group(*parts)


def progress_line(progress):
    """How far a run is, for a log: "120 of 300 submissions, 40%, 1.4 a second, about 2 min
    left".
    """
    done, total, seconds = progress.done, progress.total, progress.seconds
    words = [f"{done} of {total} submissions", f"{done / total:.0%}" if total else ""]
    if progress.graded and seconds:
        left = (total - done) * seconds / progress.graded
        unit = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        words += [f"{progress.graded / seconds:.1f} a second", f"about {unit} left"]
    return ", ".join(word for word in words if word)


def enrollment(enrolled, whole_class=False):
    """What else somebody should know of an enrollment.Enrollment: sentences."""
    yield from enrolled.remarks

    def those(names):
        return f"{', '.join(map(plain, names[:10]))}{', ...' if len(names) > 10 else ''}"

    if enrolled.left_out:
        yield f"no learners, left out: {those(enrolled.left_out)}"
    for stranger, learner in enrolled.theirs.items():
        yield f"{plain(stranger)} was in no roster; the grades are {plain(learner)}'s now"
    if enrolled.strangers:
        yield (
            f"graded, and in no roster: {those(enrolled.strangers)}; not exported until one has "
            "them"
        )
    if enrolled.left:
        yield (
            f"listed, but left: {those(enrolled.left)}. Back again: tito gradebook leave ID --lift"
        )
    if enrolled.absent:
        what = (
            "they have left"
            if whole_class
            else "they stay in the class. Left: tito gradebook leave ID, or --whole-class"
        )
        yield f"in the gradebook, and not in this roster: {those(enrolled.absent)}; {what}"


def left_out(absent, outdated, waiting=0):
    """What an export leaves out, or says differently: sentences.

    absent   {id: state}; outdated: {lesson: number of grades of another maximum}
    waiting  answers that nobody has judged
    """
    if waiting:
        yield (
            f"{count(waiting, 'answer')} of those exported {'is' if waiting == 1 else 'are'} to be "
            "judged, and count 0: tito gradebook judge"
        )
    for state, what in (("left", "left the class"), ("stranger", "in no roster")):
        ids = [one for one in absent if absent[one] == state]
        if ids:
            names = ", ".join(map(plain, ids[:10]))
            yield f"not exported, {what} ({len(ids)}): {names}{', ...' if len(ids) > 10 else ''}"
    for lesson, number in outdated.items():
        yield (
            f"{lesson}: {count(number, 'grade')} of another maximum than today's; the export has "
            f"today's. Grade again: tito grade SUBMISSIONS {lesson}"
        )


def without_checks(grade):
    """The Grade without what takes most of its memory: of a large class all are held at once."""
    return replace(grade, result=replace(grade.result, checks=[], notes=[]), check_overrides={})


def arrivals(standing):
    """What is known of when the work of these Grades came: a few lines, or none where nothing could
    be late.
    """
    handed_in = [grade for grade in standing if grade.result.is_work]
    late = sorted(
        (grade for grade in handed_in if grade.is_late),
        key=lambda grade: grade.points == grade.before_late,
    )
    unknown = [grade for grade in handed_in if grade.arrival_unknown]
    if not (late or any(grade.due for grade in handed_in)):
        return
    in_time = len(handed_in) - len(late) - len(unknown)
    words = f"{in_time} in time, {len(late)} late"
    if unknown:
        words += f", {len(unknown)} at an unknown time, which count as in time"
    yield Text(f"arrived: {words}.")
    for grade in late[:NAMED]:
        cost = grade.points - grade.before_late
        yield Text(
            f"  {plain(grade.student)}  {grade.lesson}  {grade.late_reason}"
            + (f", {grade.before_late} -> {grade.points}" if cost else ", costs nothing")
        )
    if len(late) > NAMED:
        yield Text(f"  and {len(late) - NAMED} more: tito gradebook show")
    if unknown:
        yield Text(
            "  Only the time of a download or clone is known of those. Say with --submitted when "
            "they came."
        )


def others_count(standing, given):
    """Of which files that came in this run another submission counts: a line, or none.

    given  {(learner, lesson): SHA-256 of the file that came}
    """
    others = [
        f"{plain(grade.student)} {grade.lesson}"
        for grade in standing
        if given.get((grade.student, grade.lesson)) not in (None, "", grade.result.sha256)
    ]
    if others:
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        yield Text(
            f"{count(len(others), 'file')} of these submissions "
            f"{'does' if len(others) == 1 else 'do'} not count, since another one of that lesson "
            f"does: {', '.join(others[:NAMED])}{rest}. See: tito gradebook show --student ID"
        )


def to_judge(standing):
    """How many answers of these Grades wait for a person: a line, or none."""
    waiting = sum(one.state == WAITING for grade in standing for one in grade.answers)
    if waiting:
        yield Text(
            f"{count(waiting, 'answer')} to be judged, which count 0 until then: "
            "tito gradebook judge"
        )


def fell(falls):
    """Grades that a run made smaller: a headline, then a line for each with its name, from what to
    what, and why.
    """
    yield f"{count(len(falls), 'grade')} fell:"
    for one in falls:
        why = f"  ({visible(one.why, 200, 1)})" if one.why else ""
        name = f" ({plain(one.name)})" if one.name not in ("", one.student) else ""
        yield f"  {plain(one.student)}{name}  {one.lesson}  {one.old} -> {one.new}{why}"


def grades(rows, lessons):
    """The class: a row per learner.

    `rows`: [(Learner, [Grade])]; `lessons`: {name: (number, title, points)}.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("student", no_wrap=True)
    table.add_column("name")  # gives way when the terminal is narrow
    for number, _, most in lessons.values():
        table.add_column(f"{number:02}\nof {most}", justify="right", no_wrap=True)
    table.add_column(
        f"total\nof {sum(most for _, _, most in lessons.values())}", justify="right", no_wrap=True
    )
    by_hand = late = waiting = absent = False
    for learner, grades in rows:
        found = {grade.lesson: grade for grade in grades}
        by_hand |= any(_by_hand(grade) for grade in grades)
        late |= any(grade.is_late for grade in grades)
        waiting |= any(grade.to_judge for grade in grades)
        absent |= bool(learner.state)
        table.add_row(
            Text(plain(learner.student, 40)),
            Text(
                f"({learner.state}) " * bool(learner.state) + plain(learner.name),
                no_wrap=True,
                overflow="ellipsis",
            ),
            *(_points(found[name]) if name in found else Text("-", "dim") for name in lessons),
            shown(sum((grade.points for grade in grades), Decimal(0))),
        )
    legend = ["   ".join(f"{number:02} {name}" for name, (number, _, _) in lessons.items())]
    notes = (
        (by_hand, "* set by hand"),
        (late, "~ late"),
        (waiting, "? with an answer to be judged"),
        (absent, "(left), (stranger: in no roster): not exported"),
    )
    legend += [words for wanted, words in notes if wanted]
    return Group(table, *(Text(words, "dim") for words in legend))


def _by_hand(grade):
    return bool(grade.override or grade.check_overrides)


def _points(grade):
    marks = "*" * _by_hand(grade) + "~" * grade.is_late + "?" * bool(grade.to_judge)
    return Text(f"{grade.points}{marks}", "green" if grade.points == grade.max_points else "")


def grade_table(grades, notes=False):
    """Some grades, a row for each, and why they are what they are; with `notes`, also which of
    several files counted.
    """
    table = Table(
        "student",
        "lesson",
        "points",
        "verdict",
        "base",
        "why",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for grade in grades:
        why = [grade.result.reason, *(grade.result.notes if notes else ()), grade.late_reason]
        why.insert(1, grade.parts())
        if notes and grade.due or grade.marked_late and not grade.late_reason:
            why.append(grade.arrival())
        if notes and grade.submissions > 1:
            why.append(f"counts of {grade.submissions} submissions of this lesson")
        if grade.override:
            why.append(
                f"set by {grade.override.who}, graded {grade.result.points}: {grade.override.why}"
            )
        why += [
            f"check {check} set to {one.points} by {one.who}: {one.why}"
            for check, one in grade.check_overrides.items()
            if not grade.override
        ]
        why += [f"comment by {comment.who}: {comment.text}" for comment in grade.comments]
        blamed = sorted({check.caused_by for check in grade.result.checks if check.caused_by})
        if blamed:
            why.append(f"on the course's {', '.join(blamed)}; with their own it fails")
        table.add_row(
            Text(plain(grade.student)),
            f"{grade.number:02} {grade.lesson}",
            f"{grade.points} of {grade.max_points}",
            grade.result.verdict,
            grade.result.base,
            Text("\n".join(visible(words, 300, 5) for words in why if words), overflow="fold"),
        )
    return table


def grade_checks(grade):
    """The checks of a grade with their ids, which `tito gradebook override --check` takes; below
    each what it has to say.
    """
    table = Table("points", "check", box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.columns[0].no_wrap = True
    for check in grade.result.checks:
        mark = "*" * (check.id in grade.check_overrides)
        points = f"{grade.check_points(check)}{mark} of {check.max_points}"
        about = Text(plain(check.id) + " (hidden)" * check.hidden, overflow="fold")
        if (
            not check.passed or check.caused_by
        ):  # of a check that another lesson made fail, the message says so
            about.append(
                f"\n{check.status}: {visible(check.message, 300, 3)}", "dim" if check.passed else ""
            )
        table.add_row(points, about)
    for one in grade.answers:
        about = Text(f"answer {plain(one.question)}: {one.state}", overflow="fold")
        if one.judgement:
            about.append(f" by {plain(one.judgement.who)}")
            for item in one.judgement.items:
                words = visible(item.text, 300, 3)
                about.append(f"\n{shown(item.points)}: {words}", "dim")
            if one.judgement.comment:
                about.append(f"\n{visible(one.judgement.comment, 300, 3)}", "dim")
        table.add_row(f"{shown(one.points)} of {one.max_points}", about)
    return table


def standing(overrides):
    """Overrides that hold, a row for each: who set whose points to what, why, and what is to be
    said against it.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("student", "lesson", "set to", "graded", "by", "why", ""):
        table.add_column(name, overflow="fold")
    for one in overrides:
        graded = "gone" if one.graded is None and one.check else one.graded
        table.add_row(
            Text(plain(one.student, 40)),
            Text(one.lesson + (f"\n{plain(one.check)}" if one.check else "")),
            shown(one.override.points),
            "-" if graded is None else str(graded),
            Text(plain(one.override.who, 40)),
            Text(plain(one.override.why)),
            Text(plain(one.doubt)),
        )
    return table


def trial(differences):
    """The grades that a run would change, a row for each; and how many rise, fall and are new."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("student", "lesson", "points", "why"):
        table.add_column(name, no_wrap=name == "points", overflow="fold")
    rise = fall = new = 0
    for one in differences:
        rise += one.old is not None and one.new > one.old
        fall += one.old is not None and one.new < one.old
        new += one.old is None
        why = [*one.reasons, *changed_checks(one.checks)]
        table.add_row(
            Text(plain(one.student, 40)),
            one.lesson,
            f"{'-' if one.old is None else one.old} -> {one.new}",
            Text(visible("; ".join(why), 2000, 20), overflow="fold"),
        )
    words = f"{rise} would rise, {fall} would fall, {new} would be new. Nothing was written."
    return Group(table, words) if differences else words


def doubtful(overrides):
    """The overrides to look at again after a run, as lines."""
    doubted = [one for one in overrides if one.doubt]
    if not doubted:
        return []
    lines = [
        f"  {plain(one.student, 40)}  {one.lesson}{f' {plain(one.check)}' if one.check else ''}: "
        f"set to {shown(one.override.points)} by {plain(one.override.who, 40)}; {plain(one.doubt)}"
        for one in doubted[:DOUBTS]
    ]
    if len(doubted) > DOUBTS:
        lines.append(f"  and {len(doubted) - DOUBTS} more")
    head = (
        f"{count(len(doubted), 'override')} to look at again: tito gradebook overrides --doubtful"
    )
    return [head, *lines]


def comment(one):
    return f"comment by {plain(one.who)}: {visible(one.text)}"


def changed_checks(checks):
    """The first checks whose points changed: words for each, and how many more there are."""
    words = [
        f"{one['id']} {'new' if one['old'] is None else one['old']} -> "
        f"{'gone' if one['new'] is None else one['new']}"
        for one in checks[:CHECKS]
    ]
    return words + [f"and {len(checks) - CHECKS} more checks"] * (len(checks) > CHECKS)


def history(changes):
    """What was changed, oldest first: an iterable of lines."""
    for change in changes:
        points = (
            ""
            if change.new_points is None
            else f"{'-' if change.old_points is None else change.old_points} -> {change.new_points}"
        )
        told = [change.why] if change.why and change.why != change.kind else []
        if change.kind == "comment":
            told.append(change.text or "taken back")
        elif change.kind == "override":
            told.append(
                f"{change.check or 'the lesson'} "
                f"{'lifted' if change.points is None else f'set to {change.points}'}"
                f"{f', {change.text}' if change.text else ''}"
            )
        elif change.kind == "extension":
            given = change.extension
            told.append(
                "taken back"
                if not given
                else f"until {given.until:%Y-%m-%d %H:%M} UTC"
                if given.until
                else count(given.days, "day")
            )
        elif change.text:
            told.append(change.text)
        told += changed_checks(change.checks)
        yield Text.assemble(
            (f"{change.when:%Y-%m-%d %H:%M:%S} UTC", "dim"),
            "  ",
            plain(change.student),
            f"  {change.lesson or 'all lessons'}  ",
            (change.kind, "bold"),
            f"  {points}  " if points else "  ",
            "by ",
            plain(change.who),
            ": " if told else "",
            visible("; ".join(told), 2000, 20),
        )


def claims(found):
    """A row per grader and lesson: how many submissions they have, and how many they looked at."""
    counted = {}
    for claim in found:
        row = counted.setdefault((claim.who, claim.lesson), [0, 0, claim.at])
        row[0] += 1
        row[1] += claim.done is not None
        row[2] = max(row[2], claim.done or claim.at)
    if not counted:
        return Text("No grader has claimed a submission.")
    table = Table("grader", "lesson", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("has", "looked at"):
        table.add_column(name, justify="right")
    table.add_column("last")
    for (who, lesson), (number, done, last) in sorted(counted.items()):
        when = f"{last:%Y-%m-%d %H:%M} UTC"
        table.add_row(Text(plain(who)), lesson, str(number), str(done), when)
    return table


def appeals(found, state):
    """A row per appeal: when it was entered, by whom, whose it is, what was asked and answered."""
    if not found:
        return Text("There is no appeal." if state == "all" else f"No appeal is {state}.")
    names = ["entered", "by", "student", "lesson", "state", "asked"]
    names += ["answered by", "answer"] * any(one.answer for one in found)
    table = Table(*names, box=None, padding=(0, 2, 0, 0), header_style="dim")
    for one in found:
        row = [f"{one.at:%Y-%m-%d %H:%M} UTC", one.entered_by, one.student, one.lesson, one.state]
        row += [one.asked, one.answered_by or "", one.answer or ""]
        table.add_row(*(Text(plain(text, 500)) for text in row[: len(names)]))
    return table


def items(found, checks=False):
    """A lesson's items: a row for each exercise and, if asked for, for each check."""
    told = [f"{count(found.learners, 'learner')}, {found.finished} with everything right"]
    told += [f"{number} {verdict}" for verdict, number in found.not_run.items()]
    parts = [
        Text.assemble((f"{found.number:02} {plain(found.title)}", "bold"), f": {'; '.join(told)}")
    ]
    then = f"{found.since:%m-%d}"
    told_hints = any(item.hints for item in found.exercises)
    table = _items_table("exercise", then)
    for name in ("stop here", "unwritten", *["hints*"] * told_hints):
        table.add_column(name, justify="right")
    table.add_column("commonest mistake", overflow="fold")
    for item in found.exercises:
        hints = "" if item.mean_hints is None else f"{item.mean_hints:.1f} of {item.of_hints}"
        table.add_row(
            *_item_cells(item, item.id),
            str(item.stops or ""),
            str(item.unwritten or ""),
            *[hints] * told_hints,
            _commonest(item),
        )
    parts.append(table)
    if checks:
        table = _items_table("check", then)
        table.add_column("commonest mistake", overflow="fold")
        for item in found.checks:
            hidden = " (hidden)" if item.hidden else ""
            label = f"{item.name.removeprefix('test_')}{hidden}"
            table.add_row(*_item_cells(item, label), _commonest(item))
        parts.append(table)
    if told_hints:
        note = "* opened on average, as learners say who used tito submit --with-hints"
        parts.append(Text(note, "dim"))
    return Group(*parts, "")


def _items_table(first, then):
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first, overflow="fold", max_width=48)
    for name in ("right", "of", then, "discrimination"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _item_cells(item, label):
    before = "" if item.before is None else f"{item.before[0] / item.before[1]:.0%}"
    share = "" if item.share is None else f"{item.share:.0%}"
    tells = "" if item.discrimination is None else f"{item.discrimination:.2f}"
    return Text(plain(label)), share, str(item.learners), before, tells


def _commonest(item):
    if not item.mistakes:
        return ""
    first = item.mistakes[0]
    return Text(f"{first.learners}: {plain(first.name)}")


def similar(pairs, threshold):
    """A row per pair of submissions of one lesson."""
    if not pairs:
        return Text(f"No two submissions are as much alike as {threshold:.0%}.")
    table = Table("lesson", "pair", "", box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("similarity", justify="right")
    table.add_column("in common", justify="right")
    for pair in pairs:
        table.add_row(
            f"{pair.number:02} {pair.lesson}",
            Text(plain(pair.one)),
            Text(plain(pair.two)),
            f"{pair.similarity:.0%}",
            count(pair.tokens, "word"),
        )
    return Group(table, Text("Alike is not copied: look at both before you judge.", "dim"))


def questions(found):
    """How far the answers to each question are judged, an `answers.Progress` in a row."""
    if not found:
        return "No question is in what was graded."
    table = Table("lesson", "question", "points", box=None, padding=(0, 2, 0, 0))
    for name in ("answers", "judged", "to judge", "empty"):
        table.add_column(name, justify="right")
    table.header_style = "dim"
    for one in found:
        numbers = (one.written, one.judged, one.waiting, one.empty)
        place = (f"{one.number:02} {one.lesson}", one.question, str(one.max_points))
        table.add_row(*place, *map(str, numbers))
    return table


def rubric(items, used):
    """The items of a rubric, by number; `used` {id: in how many answers that count}."""
    if not items:
        return "This question has no rubric yet: --add TEXT --points P"
    table = Table("", "points", "item", "used", box=None, padding=(0, 2, 0, 0))
    table.header_style = "dim"
    for item in items:
        words = Text(visible(item.text, 1000, 10), overflow="fold")
        table.add_row(str(item.place), shown(item.points), words, str(used.get(item.id, 0)))
    return table


def answers(rows):
    """Answers to one question, `answers.Row` by `answers.Row`, each with its beginning."""
    if not rows:
        return "Nobody's answer to this question is graded."
    table = Table("student", "state", "points", "by", "answer", box=None, padding=(0, 2, 0, 0))
    table.header_style = "dim"
    for row in rows:
        one = row.graded
        table.add_row(
            Text(plain(row.student, 40)),
            one.state + ", changed since" * bool(one.earlier and one.state == WAITING),
            f"{shown(one.points)} of {one.max_points}",
            Text(plain(one.judgement.who if one.judgement else "", 40)),
            Text(plain(" ".join(row.text.split()), 60)),
        )
    return table


def answer(row, items):
    """One answer, whole, and what a person said about it."""
    one = row.graded
    judgement = one.judgement or one.earlier
    cut = one.answer.length - len(row.text)
    state = f"{plain(row.student)}: {one.state}, {shown(one.points)} of {one.max_points} points"
    parts = [Text(state, "bold"), "", Text(visible(row.text, 50_000, 5_000), overflow="fold")]
    if one.answer.sha256 and cut > 0:
        parts.append(Text(f"... {cut:,} more characters were not kept", "dim"))
    parts.append("")
    if judgement:
        word = "judged" if one.judgement else "an earlier answer was judged"
        adjusted = f", with {tidy(judgement.adjustment):+} by hand" if judgement.adjustment else ""
        points = f"{shown(judgement.points)} points{adjusted}"
        parts.append(
            Text(f"{word} by {plain(judgement.who)} {judgement.when:%Y-%m-%d %H:%M} UTC: {points}")
        )
        if judgement.comment:
            parts.append(Text(visible(judgement.comment), overflow="fold"))
    ticked = judgement.ids if judgement else ()
    for item in items:
        mark = "x" if item.id in ticked else " "
        words = f"{shown(item.points)}  {visible(item.text, 300, 3)}"
        parts.append(Text(f"[{mark}] {item.place}  {words}"))
    return Group(*parts)
