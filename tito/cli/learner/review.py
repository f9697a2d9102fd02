"""`tito review`: questions about code that the learner wrote earlier."""

import sys
from typing import TYPE_CHECKING

from tito.cli.app import Json, Tasks, app, ask_line, current_root, echo, echo_json
from tito.errors import WorkError

if TYPE_CHECKING:
    from tito.learn.review import Asked

PROMPT = "your answer (?: show it, s: skip, q: end): "
NEXT = "(enter: go on, o: open the section, q: end): "


@app.command()
def review(tasks: Tasks = None, json: Json = False) -> None:
    """Ask about code that you wrote earlier: what a line does, and what happens without it.

    Each answer is found by running your code, and nothing is graded. An exercise is due a day
    after it passed, and then as you answer. With a lesson or an exercise: ask now. At most ten
    questions in a row. Example: tito review tensor
    """
    from tito.learn import review as reviews
    from tito.views import review as views

    root = current_root()
    chosen = reviews.select(root.select(tasks)) if tasks else reviews.due(root)
    session = reviews.session(chosen)
    if json:
        echo_json([asked.as_json() for asked in session])
        return
    count = 0
    if sys.stdin.isatty() and sys.stdout.isatty():
        for count, asked in enumerate(session, 1):
            if not _ask(asked, count):
                return
    elif rows := [*session]:
        count = len(rows)
        echo(*(views.question(asked, number) for number, asked in enumerate(rows, 1)))
        echo(views.answers(rows))
    if not count:
        echo(views.nothing(" ".join(tasks or [])))


def _ask(asked: "Asked", number: int) -> bool:
    """Ask one question, and show the answer. Returns whether to go on."""
    from tito.learn import review as reviews
    from tito.views import review as views

    echo(views.question(asked, number))
    while (typed := ask_line(PROMPT)) is not None and not asked.is_answer(typed):
        if typed in ("s", "q"):
            return typed == "s"
    if typed is None:
        return False
    try:
        echo(views.answer(asked, asked.answer(typed)))
    except reviews.Edited:
        echo("The code was edited meanwhile, so here is a question about it as it is now.")
        again = reviews.ask(asked.entry, asked.exercise)
        return _ask(again, number) if again else True
    except WorkError as error:
        echo(f"{error.what} {error.remedy}")
    while (typed := ask_line(NEXT)) == "o":
        _open(asked)
    return typed is not None and typed != "q"


def _open(asked: "Asked") -> None:
    """Open the lesson's page at the exercise."""
    from tito.learn import lesson_page

    page = lesson_page.write(asked.entry)
    if not lesson_page.open_page(page, f"cell-{asked.exercise.name}-1"):
        echo("No browser opens here. Open this page:", asked.entry.relative(page))
