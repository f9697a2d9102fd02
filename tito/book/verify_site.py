"""What is read back of the finished site, file by file, before anybody gets it.

Every link within the site leads somewhere, every picture has an alt text, no page or style asks
another host for anything, and in the learner's edition stands no line of a solution or of a hidden
check: not in a page, the search index, a notebook or an output.
"""

import json
import posixpath
import re
import zlib
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from tito.author import leaks
from tito.book import lite, search
from tito.book.pages import LEARNER
from tito.errors import MachineError, WorkError

LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "audio": "src",
    "video": "src",
    "source": "src",
    "embed": "src",
    "object": "data",
}
ASKS = {
    "stylesheet",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "icon",
    "shortcut",
}  # what of <link> makes a browser ask
STYLE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""")
COLOURS = re.compile(
    r'<span class="[\w ]*">|</span>'
)  # of highlighted code: most tags of a page, and of no interest here
PICTURES = (".png", ".jpeg", ".jpg", ".woff2")
SHOWN = 10  # findings told at once


class Page(HTMLParser):
    """What matters of one page: where its links lead, what it loads, its ids, its
    pictures, and every word in it.
    """

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.nameless, self.words, self.told = (
            [],
            [],
            set(),
            [],
            [],
            [],
        )
        self.feed(COLOURS.sub("", text))
        self.close()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.told += [value for _, value in attributes if value]
        self.ids.update(values[key] for key in ("id", "name") if values.get(key))
        if (
            tag == "img"
            and not (values.get("alt") or "").strip()
            and values.get("role") != "presentation"
        ):
            self.nameless.append(values.get("src", ""))
        if address := values.get(LOADS.get(tag)):
            self.loads.append(address)
        if tag == "link" and values.get("href") and ASKS & set((values.get("rel") or "").split()):
            self.loads.append(values["href"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        self.loads += STYLE.findall(values.get("style") or "")

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        """Every word, highlighted code as one reads it; then the attributes, each in a line."""
        return "\n".join(["".join(self.words), *self.told])


def read_back(root, folder, edition):
    """Raise WorkError with the places of what is wrong in the site; MachineError when a
    learner's edition gives something away.
    """
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    read = {
        name: Page(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if name.endswith(".html") and not name.startswith(("_static/", "lite/"))
    }
    if edition == LEARNER:
        _refuse_secrets(root, paths, read)
    wrong = [
        problem for name, page in read.items() for problem in _of_page(name, page, paths, read)
    ]
    for name, path in paths.items():
        if name.endswith(".css"):
            wrong += [
                f"{name}: asks another host: {address}"
                for address in STYLE.findall(path.read_text(encoding="utf-8"))
            ]
    if wrong:
        more = f"\n... {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise WorkError(
            "The book was not made:\n" + "\n".join(wrong[:SHOWN]) + more,
            "Mend these pages' sources, then build it again.",
        )


def _of_page(name, page, paths, read):
    """What is wrong in one page, as sentences."""
    for address in page.loads:
        if urlsplit(address).netloc:
            yield f"{name}: asks another host: {address}"
    for source in page.nameless:
        yield f"{name}: a picture without alt text: {source}"
    for address in dict.fromkeys(page.links + page.loads):
        url = urlsplit(address)
        if url.scheme or url.netloc or address == "#":
            continue
        target = (
            posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(url.path)))
            if url.path
            else name
        )
        if target not in paths:
            yield f"{name}: a link that leads nowhere: {address}"
        elif url.fragment and target in read and unquote(url.fragment) not in read[target].ids:
            yield f"{name}: a link to a heading that {target} does not have: {address}"


def _refuse_secrets(root, paths, read):
    # What Sphinx, its theme and JupyterLite bring along holds no lesson.
    secrets = leaks.secrets(root)
    texts = {
        name: read[name].text if name in read else _text(path)
        for name, path in paths.items()
        if not name.endswith(PICTURES) and _is_ours(root, name)
    }
    every = "\n".join(dict.fromkeys(line for text in texts.values() for line in text.split("\n")))
    if found := leaks.TextSearch(secrets).find_in(every):
        secret = next(secret for secret in secrets if secret in found)
        name = next(name for name, text in texts.items() if secret in text)
        raise MachineError(
            f"{name} would give away {secrets[secret]}: {secret[:100]}",
            "No book was made. Take it out of what learners read, then build it again.",
        )


def _text(path):
    """A file's text; of a notebook, also its cells as one reads them; what is packed, unpacked."""
    data = path.read_bytes()
    if path.suffix == ".inv":
        head, _, packed = data.partition(b"compressed using zlib.\n")
        data = head + zlib.decompress(packed)
    text = data.decode("utf-8", "replace")
    if path.name == search.FILE:
        text = search.read(text)
    return (
        text + "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        if path.suffix == ".ipynb"
        else text
    )


def _is_ours(root, name):
    if name.startswith("lite/"):
        return name.startswith(lite.OURS)
    return (
        not name.startswith("_static/")
        or (root.path / "book" / name).exists()
        and not name.startswith("_static/katex/")
    )
