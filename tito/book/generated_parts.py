"""The parts of the book's pages that are made: a line `<!-- made: NAME -->` in a
page is replaced by one of them.

browser   `<!-- made: browser NAME -->`: a link to that lesson in the browser, in a site that has it
lessons   the lessons and milestones in a table, and in the site's contents
commands  every command, from tito itself
glossary  the terms that the lessons introduce, with an index of where they are used
sections  the page is split in its sections, which are listed there (sections.py)
pytorch   PyTorch's names beside those of this course, from the lessons' headers
any other name is a drawing without a lesson (see drawings.py), or a program of the course,
          `book/NAME.py`, which prints its part with the course's package at hand
"""

import itertools
import re
from collections import Counter

from tito.book import execute, pages
from tito.book.drawings import NUMBER, escaped
from tito.errors import WorkError
from tito.learn import milestone
from tito.lesson import glossary

MARK = re.compile(r"^<!-- made: (\w+)(?: (\w+))? -->$", re.M)
PAGE_TERMS = 40  # of the glossary on one page
GROUP = 6  # commands such as `tito gradebook show` that get a page of their own
PAGE_COMMANDS = 12  # at most, on one page


def fill(page, text, root, package, commands, drawn=None, button=""):
    """The page's text with its made parts in place, and its figures numbered.

    package   the folder with the course's package
    commands  [(who it is for, "tito book build", click's command)]
    drawn     {name: HTML} of drawings
    button    the words of a link to a lesson in the browser; "" for none
    """

    def part(mark):
        name, words = mark.groups()
        if name == "sections":
            return mark.group(0)
        if name == "browser":
            return button and browser_link(root.lesson(words or root.lessons[0].name), button)
        if name == "lessons":
            return lessons(root)
        if name == "commands":
            return commands_part(commands)
        if name == "glossary":
            return glossary_part(root)
        if name == "pytorch":
            return pytorch_part(root)
        if name in (drawn or {}):
            return drawn[name]
        return printed(root, page, name, package)

    counts = itertools.count(1)
    return re.sub(NUMBER, lambda _: f"<b>Figure {next(counts)}.</b> ", MARK.sub(part, text))


def printed(root, page, name, package):
    """What the course's program `book/NAME.py` prints."""
    program = root.path / "book" / f"{name}.py"
    if not program.exists():
        raise WorkError(
            f"book/{page}: there is no made part {name!r}.",
            "There are browser, lessons, commands, glossary, sections, pytorch, drawings without a "
            f"lesson, and the programs book/*.py; book/{name}.py is none.",
        )
    return execute.output_of(program, package, f"It makes a part of book/{page}")


def browser_link(entry, words):
    """A link from a page of the site's own folder to a lesson in the browser."""
    address = f"lite/notebooks/index.html?path={entry.folder}/{entry.notebook.name}"
    return f'<a href="{address}">{words}</a>'


def plain_index(root):
    """The first page of a course that has none of its own."""
    return f"# {root.name}\n\n<!-- made: browser -->\n\n<!-- made: lessons -->\n"


def lessons(root):
    """Every lesson, and each milestone after the last lesson it
    needs: the order to read them in.
    """
    parts = []
    for entry in root.lessons:
        meta = entry.declared.meta
        row = (
            f"| [{entry.number:02}. {meta['title']}](lessons/{entry.folder}.ipynb) | "
            f"{escaped(meta['summary'].rstrip('.'))} | {meta['hours']:g} |"
        )
        parts.append((entry.number, 0, f"lessons/{entry.folder}", row))
    for program in milestone.milestones(root):
        summary = " ".join(pages.summary_of(program).partition("\n\n")[0].split())
        row = (
            f"| [{program.year}. {escaped(program.title)}]"
            f"(milestones/{program.path.stem}.ipynb) | {escaped(summary.rstrip('.'))} | |"
        )
        parts.append(
            (
                max((root.lesson(name).number for name in program.needs), default=0),
                program.number,
                f"milestones/{program.path.stem}",
                row,
            )
        )
    parts.sort()
    contents, rows = ("\n".join(program[part] for program in parts) for part in (2, 3))
    hours = sum(entry.declared.meta["hours"] for entry in root.lessons)
    return (
        "| lesson | what it is about | hours |\n| --- | --- | ---: |\n"
        + rows
        + f"\n| | in all | {hours:g} |\n\n"
        + f"```{{toctree}}\n:hidden:\n:caption: Lessons\n\n{contents}\n```"
    )


# Terms, and PyTorch's names.


def glossary_part(root):
    """Every term: the sentence that explains it, where it stands, where else the term is used.

    Some letters of the alphabet make a section, of about PAGE_TERMS terms.
    """
    addresses = {entry.name: pages.addresses(entry) for entry in root.lessons}
    folders = {entry.name: entry.folder for entry in root.lessons}
    numbers = {entry.name: entry.number for entry in root.lessons}

    def link(text, lesson, heading):
        address = addresses[lesson].get(heading, f"lessons/{folders[lesson]}.ipynb")
        return f"[{text}]({address})"

    parts = []
    every = itertools.groupby(glossary.read_terms(root), key=lambda term: term.term[0].upper())
    letters = [(letter, list(terms)) for letter, terms in every]
    sections, count = [], PAGE_TERMS
    for letter, terms in letters:
        if count + len(terms) > PAGE_TERMS:
            sections.append([])
            count = 0
        sections[-1].append(letter)
        count += len(terms)
    first = {one[0]: " to ".join(dict.fromkeys((one[0], one[-1]))) for one in sections}
    for letter, terms in letters:
        if letter in first:
            parts.append(f"## {first[letter]}")
        if first.get(letter) != letter:
            parts.append(f"### {letter}")
        for term in terms:
            places = link(f"{term.number:02}. {term.title}", term.lesson, term.section)
            if term.used:
                later = (link(f"{numbers[name]:02}", name, term.used[name]) for name in term.used)
                places += f"; used in {', '.join(later)}"
            if term.pytorch:
                places += f"; in PyTorch `{term.pytorch}`"
            parts.append(f"**{term.term}**\n: {term.sentence}\n\n  {places}")
    return "\n\n".join(parts)


def pytorch_part(root):
    """For each lesson a table: what one types here, and what it is called in PyTorch."""
    parts = []
    for entry in root.lessons:
        meta = entry.declared.meta
        names = {
            here: there
            for here, there in meta.get("pytorch", {}).items()
            if here not in meta["terms"]
        }
        if names:
            rows = [f"| `{root.package}.{here}` | `{there}` |" for here, there in names.items()]
            parts += [
                f"### [{entry.number:02}. {meta['title']}](lessons/{entry.folder}.ipynb)",
                "\n".join(["| here | in PyTorch |", "| --- | --- |", *rows]),
            ]
    return "\n\n".join(parts)


# Commands.


def commands_part(commands):
    """Every command as `tito COMMAND --help` knows it: who it is for, what it
    does, its words, an example.

    commands  [(who it is for, "tito book build", click's command)]
    """
    of_group = Counter(words.split()[1] for _, words, _ in commands if len(words.split()) > 2)
    groups = {audience: [] for audience, _, _ in commands}
    for audience, words, command in commands:
        group = words.split()[1]
        alone = of_group[group] >= GROUP
        title = f"{audience}: tito {group}" if alone else audience
        name = words.split(maxsplit=2 if alone else 1)[-1]
        groups.setdefault(title, []).append((name, _command(words, command)))
    parts = []
    for title, every in groups.items():
        count = -(-len(every) // PAGE_COMMANDS)
        for page in range(count):
            some = every[page * len(every) // count : (page + 1) * len(every) // count]
            names = f", {some[0][0]} to {some[-1][0]}" if count > 1 else ""
            parts += [f"## {title}{names}", *(text for _, text in some)]
    return "\n\n".join(parts)


def _command(words, command):
    text, _, example = (command.help or "").partition("Example: ")
    text = re.sub(
        r"^For (?:authors|instructors): (.)", lambda match: match.group(1).upper(), _one_line(text)
    )
    parts = [f"### {words}", escaped(text)]
    if example:
        parts.append(f"```sh\n{_one_line(example)}\n```")
    rows = [
        f"| `{_name(parameter)}` | {escaped(_one_line(parameter.help))} |"
        for parameter in command.params
        if "--root" not in parameter.opts
    ]
    if rows:
        parts.append("\n".join(["| word | what it says |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def _name(parameter):
    """A parameter as one types it: "--jobs N"; a switch without a value."""
    value = "" if getattr(parameter, "is_flag", False) else parameter.make_metavar(None)
    value = re.sub(
        r"<(\w+)( range)?>",
        lambda match: "NUMBER" if match.group(2) else match.group(1).upper(),
        value,
    ).replace("|", "\\|")
    return (
        value
        if parameter.param_type_name == "argument"
        else f"{', '.join([*parameter.opts, *parameter.secondary_opts])} {value}".strip()
    )


def _one_line(text):
    return " ".join((text or "").split())
