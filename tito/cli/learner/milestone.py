"""The commands of `tito milestone`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import Json, app, current_root, echo, echo_json

if TYPE_CHECKING:
    from tito.learn.milestone import Milestone
    from tito.lesson.course import Root

milestone_app = typer.Typer()
app.add_typer(milestone_app, name="milestone")

Name = Annotated[
    str,
    typer.Argument(metavar="MILESTONE", help="A name, number or year: xor, 2 or 1986."),
]
Options = Annotated[
    list[str] | None,
    typer.Argument(metavar="[OPTION]...", help="Options of the milestone's program."),
]
Seed = Annotated[int, typer.Option(min=0, help="The seed of the random numbers.")]
Again = Annotated[bool, typer.Option("--again", help="Run also what has reached its goal.")]


@milestone_app.callback(invoke_without_command=True)
def milestone_(context: typer.Context, json: Json = False) -> None:
    """List and run programs that use your finished package.

    Without a command: list them, with your results and the lessons that they wait for.

    Example: tito milestone
    """
    if context.invoked_subcommand:
        return
    from tito.learn import milestone

    rows = milestone.statuses(current_root())
    if json:
        echo_json([row.as_json() for row in rows])
        return
    from tito.views import learner as views

    echo(views.milestones(rows))


PASSES_ON = {"ignore_unknown_options": True}  # also --help, to the milestone's program


@milestone_app.command("run", context_settings=PASSES_ON, add_help_option=False)
def run_milestone(
    context: typer.Context,
    name: Name,
    options: Options = None,
    seed: Seed = 0,
    again: Again = False,
    json: Json = False,
) -> None:
    """Run a milestone with your package: train, draw, and report whether the goal was reached.

    The GPT, once it is trained, continues the texts that you type. `tito milestone run gpt --help`
    lists the options of the milestone gpt.

    Example: tito milestone run xor
    """
    from tito.learn import milestone

    if name == "--help":
        echo(context.get_help())
        return
    root = current_root()
    program = milestone.find(root, name)
    if "--help" in (options or ()):
        milestone.run(root, program, words=("--help",))
        return
    words = tuple(options or ())
    # A program that asks for the result, and has no words, gets the result of a run.
    if not again and (words or not json) and milestone.is_to_play(root, program, words):
        play_milestone(root, program, (*words, "--json") if json else words, seed)
        return
    train_milestone(root, program, words, seed, json)


def train_milestone(
    root: "Root", program: "Milestone", words: tuple[str, ...], seed: int, json: bool
) -> None:
    """Run a milestone, and show what came of it."""
    from tito.learn import milestone
    from tito.views import learner as views
    from tito.views import link

    milestone.check_begun(root, program)
    if not json:
        echo(views.milestone_card(program))
        sys.stdout.flush()
    result = milestone.run(root, program, seed, words, sys.stderr if json else None)
    picture = result.picture and result.picture.relative_to(root.path).as_posix()
    if json:
        echo_json(result.as_json() | {"picture": picture})
    else:
        echo(views.milestone_result(result, link(root, picture) if picture else None))
    if not result.passed:
        raise typer.Exit(1)


def play_milestone(root: "Root", program: "Milestone", words: tuple[str, ...], seed: int) -> None:
    """Use what a milestone made."""
    from tito.learn import milestone

    if not words:
        echo(
            f"{program.name} has reached its goal with the code that you have. To run it again: "
            f"tito milestone run {program.name} --again"
        )
        sys.stdout.flush()
    milestone.play(root, program, words, seed)
