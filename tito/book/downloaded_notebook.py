"""The first cell of a notebook to download says that it needs a workspace, and how to get one."""

from tito.lesson.course import Entry
from tito.lesson.site_settings import Published


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
    return (
        f"**This notebook belongs in a workspace.** Lesson {entry.number:02} of {root.name} takes "
        f"its checks, and `{root.package}` as you have written it so far, from the folder that "
        f"it lies in. Opened anywhere else its cells fail. {get}{more}\n"
        "\n"
        f"The workspace has this lesson already, in `{folder}/`. If you have written in this "
        f"copy, put it there in place of the other; `tito notebook {entry.name} --keep notebook` "
        "takes it over."
    )
