"""`tito gradebook rubric` and `judge`: free answers, which a person judges."""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import Json, RootOption, current_folder, current_root, echo, echo_json
from tito.cli.instructor.gradebook import Lift, Who, gradebook_app
from tito.cli.instructor.options import (
    GradebookOption,
    SectionOption,
    author_name,
    gradebook_of,
    lesson_name,
    section_of,
    tell_falls,
)
from tito.errors import UsageError

LessonName = Annotated[
    str | None, typer.Argument(metavar="[LESSON]", help="A name or number.", show_default=False)
]
QuestionName = Annotated[
    str | None,
    typer.Argument(
        metavar="[QUESTION]", help="Its name, question=... in the lesson.", show_default=False
    ),
]


def question_of(root, lesson, question):
    """(the lesson's name, the question's). The course need not have it any more: answers stay."""
    name = lesson_name(root, lesson)
    if root.is_course:
        root.lesson(name).declared.question(question)
    return name, question


def show_questions(root, book, lesson, section, json):
    """How far the answers to each question are judged."""
    from dataclasses import asdict

    from tito.grading import views
    from tito.grading.gradebook import answers

    section_of(book, section)
    found = answers.overview(book, lesson_name(root, lesson), section)
    if json:
        echo_json([asdict(one) | {"written": one.written} for one in found])
    else:
        echo(views.questions(found))


@gradebook_app.command("rubric")
def gradebook_rubric(
    lesson: LessonName = None,
    question: QuestionName = None,
    add: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A new item, with --points.", show_default=False),
    ] = None,
    item: Annotated[
        int | None,
        typer.Option(metavar="N", help="The item to change, by its number.", show_default=False),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(metavar="P", help="Its points, such as 1 or -0.5.", show_default=False),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its new text.", show_default=False)
    ] = None,
    place: Annotated[
        int | None, typer.Option(metavar="N", help="Its new number.", show_default=False)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take it out.")] = False,
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Show or change the rubric of a question: its items' points count for all answers at once.

    Without a question: how far each one is judged. Example: tito gradebook rubric losses
    why-softmax --add "outputs sum to 1" --points 1
    """
    from tito.grading import views
    from tito.grading.gradebook import answers

    root = current_root(root)
    news = remove or any(one is not None for one in (points, text, place))
    changes = item is not None and news
    if add is not None and (points is None or item is not None or remove or text or place):
        raise UsageError(
            "--add needs the item's points, and nothing else.", '--add "is complete" --points 1'
        )
    if add is None and (item is not None or news) and not changes:
        raise UsageError(
            "Which item, and what of it?", "For instance: --item 2 --points 0.5; --item 2 --remove"
        )
    if (add is not None or changes) and not question:
        raise UsageError("Of which question?", "tito gradebook rubric LESSON QUESTION ...")
    reads = add is None and not changes
    with gradebook_of(root, gradebook, create=add is not None, reads=reads) as book:
        if not question:
            show_questions(root, book, lesson, None, json)
            return
        asked = question_of(root, lesson, question)
        try:
            if add is not None:
                answers.add_item(book, *asked, add, points, author_name(who))
            elif changes:
                by_place = {one.place: one.id for one in answers.rubric(book, *asked)}
                (chosen,) = answers.item_ids(by_place, [item], *asked)
                place_of = (book, *asked, chosen, author_name(who))
                if remove:
                    answers.remove_item(*place_of)
                else:
                    answers.change_item(*place_of, points, text, place)
        finally:
            tell_falls(book)
        items, used = answers.rubric(book, *asked), answers.used(book, *asked)
    if json:
        echo_json([one.as_json() | {"used": used.get(one.id, 0)} for one in items])
    else:
        echo(views.rubric(items, used))


@gradebook_app.command("judge")
def gradebook_judge(
    lesson: LessonName = None,
    question: QuestionName = None,
    student: Annotated[
        str | None, typer.Option(metavar="ID", help="Whose answer.", show_default=False)
    ] = None,
    items: Annotated[
        list[int] | None,
        typer.Option(
            "--item",
            metavar="N",
            help="An item of the rubric that the answer has, by its number; may be repeated.",
            show_default=False,
        ),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Points to add to those of the items, or to take off, such as 1.5 or -0.5.",
            show_default=False,
        ),
    ] = None,
    comment: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What the learner will read.", show_default=False),
    ] = None,
    lift: Lift = False,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Judge many: a header with student, lesson, question, and items, adjustment, "
            "comment.",
            show_default=False,
        ),
    ] = None,
    section: SectionOption = None,
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Judge a free answer: by the items of its rubric, further points, a comment. Without a
    learner: list the answers to a question; without a question: how far each one is judged.

    Example: tito gradebook judge losses why-softmax --student ada --item 1 --item 3
    """
    from tito import views as general
    from tito.grading import views
    from tito.grading.gradebook import answers

    root = current_root(root)
    judges = bool(items) or points is not None or comment is not None
    if judges and lift or csv and (judges or lift or lesson):
        raise UsageError(
            "These contradict each other.",
            "Give items, points, comment; or --lift; or --csv alone.",
        )
    if (judges or lift) and not (question and student):
        raise UsageError(
            "Whose answer, to which question?",
            "tito gradebook judge LESSON QUESTION --student ID ...",
        )
    reads = not (judges or lift or csv)
    with gradebook_of(root, gradebook, create=False, reads=reads) as book:
        if csv:
            wishes = answers.read(current_folder() / csv, lambda name: lesson_name(root, name))
            new, known = answers.apply(book, wishes, author_name(who))
            tell_falls(book)
            said = f"{csv}: {general.count(new, 'answer')} judged, {known} held already."
            echo_json({"judged": new, "known": known}) if json else echo(said)
            return
        if not question:
            show_questions(root, book, lesson, section, json)
            return
        asked = question_of(root, lesson, question)
        if lift:
            answers.take_back(book, student, *asked, author_name(who))
        elif judges:
            by_place = {one.place: one.id for one in answers.rubric(book, *asked)}
            chosen = answers.item_ids(by_place, items or (), *asked)
            said = (chosen, points or 0, comment or "")
            answers.judge(book, student, *asked, author_name(who), *said)
        tell_falls(book)
        if student:
            rows = [answers.row(book, student, *asked)]
        else:
            section_of(book, section)
            rows = answers.rows(book, *asked, section)
        rubric = answers.rubric(book, *asked)
    if json:
        echo_json([one.as_json() for one in rows])
    elif student:
        echo(views.answer(rows[0], rubric))
    else:
        echo(views.answers(rows))
