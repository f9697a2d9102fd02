"""The commands of `tito milestone`."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tito.cli.app import Json, app, current_root, echo, echo_json
from tito.errors import TitoError

milestone_app = typer.Typer(
    help="Programs that run on your finished package: from the perceptron to a GPT."
)
app.add_typer(milestone_app, name="milestone")

Name = Annotated[
    str,
    typer.Argument(
        metavar="MILESTONE", help="A name, number or year: xor, 2 or 1986.", show_default=False
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[OPTION]...",
        help="Settings of the milestone, listed below.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The seed of the random numbers.")]


@milestone_app.callback(invoke_without_command=True)
def milestone_(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_milestones()


@milestone_app.command("list")
def list_milestones(json: Json = False) -> None:
    """List the milestones: the goal of each, the lessons that it needs, and your results.

    Example: tito milestone list
    """
    from tito.learn import milestone

    rows = milestone.statuses(current_root())
    if json:
        echo_json([row.as_json() for row in rows])
        return
    from tito.views import learner as views

    echo(views.milestones(rows))


class MilestoneCommand(TyperCommand):
    """A command whose help lists the settings that the milestones take."""

    def format_help(self, *arguments: Any) -> None:
        from tito.learn import milestone

        try:
            programs = milestone.milestones(current_root())
        except TitoError:  # outside a course or workspace
            programs = []
        lines = [f"{p.name} takes {', '.join(p.options)}" for p in programs if p.options]
        self.epilog = "\n\n".join(lines)
        super().format_help(*arguments)


@milestone_app.command(
    "run", cls=MilestoneCommand, context_settings={"ignore_unknown_options": True}
)
def run_milestone(name: Name, options: Options = None, seed: Seed = 0, json: Json = False) -> None:
    """Run a milestone with your package: train, draw, and report whether the goal was reached.

    Example: tito milestone run xor
    """
    from tito.learn import milestone

    root = current_root()
    program = milestone.find(root, name)
    if not json:
        from tito.views import learner as views
        from tito.views import link

        echo(views.milestone_card(program))
        sys.stdout.flush()
    out = sys.stderr if json else None
    result = milestone.run(root, program, seed, tuple(options or ()), out)
    picture = result.picture and result.picture.relative_to(root.path).as_posix()
    if json:
        echo_json(result.as_json() | {"picture": picture})
    else:
        echo(views.milestone_result(result, link(root, picture) if picture else None))
    if not result.passed:
        raise typer.Exit(1)
