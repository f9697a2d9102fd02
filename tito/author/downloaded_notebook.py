"""The first cells of a notebook that is opened outside a workspace.

A downloaded notebook explains that it needs a workspace, and how to get one. On Google Colab its
first code cell installs tito and the lessons from the release's wheel; see `learn/colab.py`.
"""

from tito.author import wheel
from tito.lesson.course import Entry
from tito.lesson.site_settings import Published


def first_cells(entry: Entry, published: Published) -> list[tuple[str, str]]:
    """The cells of a notebook to download, as `notebook.with_start` takes them."""
    return [("markdown", workspace_note(entry, published)), *colab_cells(entry, published)]


def workspace_note(entry: Entry, published: Published) -> str:
    """Where a lesson's notebook belongs, in words."""
    root, folder = entry.root, entry.relative(entry.notebook.parent)
    if published.release:
        get = (
            f"Get one with `git clone {published.release} my-{root.package}`, then "
            f"`bin/setup notebook` in that folder."
        )
    else:
        get = (
            f"In a clone of the course, `bin/setup notebook && bin/tito init ../my-{root.package}` "
            "makes one."
        )
    more = root.book and f" [How to work on a lesson]({root.book}learning.html) says more."
    colab = "\n\nOn Google Colab, run the next cell first: it makes a workspace for the session."
    return (
        f"**This notebook belongs in a workspace.** Lesson {entry.number:02} of {root.name} takes "
        f"its checks, and `{root.package}` as you have written it so far, from the folder that "
        f"it lies in. Opened anywhere else its cells fail. {get}{more}\n"
        "\n"
        f"The workspace has this lesson already, in `{folder}/`. If you have written in this "
        f"copy, put it there in place of the other; `tito notebook {entry.name} --keep notebook` "
        f"takes it over.{colab if published.release else ''}"
    )


def colab_cells(entry: Entry, published: Published) -> list[tuple[str, str]]:
    """The cell that prepares a session of Google Colab; none without a release."""
    if not published.release:
        return []
    address = published.file(f"bin/{wheel.name()}")
    return [
        (
            "code",
            "# On Google Colab this installs tito and makes a workspace. Elsewhere it does "
            "nothing.\n"
            "import sys\n"
            "\n"
            'if "google.colab" in sys.modules:\n'
            f'    %pip install --quiet "{address}"\n'
            "    from tito.learn import colab\n"
            "\n"
            f'    colab.begin("{entry.name}")',
        )
    ]
