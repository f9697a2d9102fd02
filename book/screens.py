"""Make the pictures of `learning.md`: how one works on a lesson.

    python book/screens.py [--drawing]

`jupyterlab.png` is a screenshot: JupyterLab opens a lesson's notebook, the exercise is filled in,
and the cells are run. `vscode.svg` is a drawing, and says so: a lesson as VS Code shows it, with
the words of the lesson; `--drawing` makes only this. Needs the extra `dev`, and Chromium.
"""

import html
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from pathlib import Path

from tito.learn import notebook_sync, workspace
from tito.lesson import cells, course

REPOSITORY = Path(__file__).resolve().parents[1]
STATIC = REPOSITORY / "book" / "_static"
LESSON, EXERCISE = "tensor", "strides"
WIDTH, HEIGHT = 1100, 740  # of the screenshot
SETTINGS = {  # of JupyterLab: every cell is in the page, nothing of other packages, no question
    "@jupyterlab/notebook-extension/tracker.jupyterlab-settings": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false"},
    "labconfig/page_config.json": {"disabledExtensions": {"@jupyter/nbgrader": True}},
}


def solved(folder):
    """A workspace in which the exercise is filled in; returns its lesson."""
    source = course.open_root(REPOSITORY)
    workspace.init(folder, source)
    entry = course.open_root(folder).lesson(LESSON)
    solution = source.lesson(LESSON).declared.source.cell(EXERCISE).source
    text = re.sub(r"\n *### (BEGIN|END) SOLUTION", "", solution)
    chapter = cells.read(entry.script)
    entry.script.write_text(chapter.replaced(chapter.cell(EXERCISE), text), encoding="utf-8")
    return entry


# JupyterLab


def jupyterlab():
    """A screenshot of a lesson in JupyterLab, as the bytes of a PNG."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place:
        entry = solved(Path(place) / "my-tinytorch")
        notebook_sync.settle(entry, make=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        token = secrets.token_hex(16)
        home = Path(place) / "home"
        for name, values in SETTINGS.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(json.dumps(values), encoding="utf-8")
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *(f"--port={port}", f"--IdentityProvider.token={token}"),
                f"--LabApp.user_settings_dir={home}",
            ],
            cwd=entry.root.path,
            env=os.environ
            | {
                "PYTHONPATH": str(entry.root.path),
                "JUPYTER_CONFIG_DIR": str(home),
                "JUPYTER_DATA_DIR": str(home),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            answering(f"{address}/api?token={token}")
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=shutil.which("chromium") or shutil.which("chromium-browser"),
                    args=["--no-sandbox"],
                )
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                name = entry.notebook.relative_to(entry.root.path).as_posix()
                page.goto(f"{address}/lab/tree/{name}?token={token}&reset")
                return shot(page)
        finally:
            server.terminate()
            server.wait(timeout=30)


def answering(address, seconds=120):
    for _ in range(seconds):
        try:
            return urllib.request.urlopen(address, timeout=5)
        except OSError:
            time.sleep(1)
    raise SystemExit(f"JupyterLab did not start within {seconds} s.")


def shot(page):
    """Run the cells up to the exercise's demonstration, show that place, and take the picture."""
    page.set_default_timeout(120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    page.keyboard.press("Control+b")  # without the list of files
    demonstration = page.locator(".jp-CodeCell", has_text="strides of (2, 3, 4)").first
    demonstration.locator(".jp-InputPrompt").first.click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Above Selected Cell").click()
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    demonstration.locator(".jp-InputPrompt").first.click()
    page.keyboard.press("Shift+Enter")
    demonstration.locator(".jp-OutputArea-output").nth(1).wait_for()  # a line, then a picture
    page.wait_for_timeout(1500)
    checks = page.locator(".jp-CodeCell", has_text=f'check("{EXERCISE}")').first
    checks.evaluate("cell => cell.scrollIntoView()")  # no solution is in the picture
    page.wait_for_timeout(1000)
    return page.screenshot()


# VS Code

COLUMN, LINE, LEFT, RIGHT = 440, 19, 18, 384  # pixels
CARD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img"
     viewBox="0 0 {width} {height}" aria-label="{label}">
<style>
text {{ font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #24292f;
  white-space: pre }}
.page {{ fill: #fff }} .line {{ stroke: #d0d7de }} .pane {{ fill: #f6f8fa; stroke: #d0d7de }}
text.lens {{ font: 12px system-ui, sans-serif; fill: #6b7280 }} text.said {{ fill: #6b7280 }}
text.title {{ font: 13px system-ui, sans-serif; font-weight: 600 }}
text.hint {{ font: 13px system-ui, sans-serif; fill: #b35900 }}
.arrow {{ stroke: #b35900; fill: none }}
</style>
<rect class="page" width="{width}" height="{height}"/>
{parts}
</svg>
"""


def vscode():
    """A drawing of two cells of a lesson in VS Code, as SVG: above each its commands, at the right
    what the second one draws.
    """
    chapter = course.open_root(REPOSITORY).lesson(LESSON).declared.source
    shown = next(cell for cell in chapter.cells if "draw_strides(x," in cell.source)
    code = [line for line in shown.source.split("\n") if not line.startswith("#")]
    code = [re.sub(r"  # alt: .*", "", line) for line in code]
    text = chapter.cells[chapter.cells.index(shown) - 1].source.split("\n\n")[-1]
    text = " ".join(re.split(r"(?<=[.?]) ", " ".join(text.split()))[:-1])  # the last is code
    parts, y = [], 30

    def put(x, words, style=""):
        parts.append(f'<text class="{style}" x="{x}" y="{y}">{html.escape(words)}</text>')

    put(LEFT, chapter.path.name, "title")
    put(COLUMN + LEFT, "Interactive", "title")
    y += 12
    parts.append(f'<path class="line" d="M0,{y} H{COLUMN + RIGHT}"/>')
    top = y
    for marker, rows in (
        ("# %% [markdown]", [f"# {line}" for line in textwrap.wrap(text, 48)]),
        ("# %%", code),
    ):
        y += 26
        put(LEFT, "▷ Run Cell | Run Above", "lens")
        pointer = y - 4
        y += LINE
        put(LEFT, marker, "said")
        for row in rows:
            y += LINE
            put(LEFT, row, "" if rows is code else "said")
    bottom = y + 82
    parts.append(f'<path class="arrow" d="M160,{pointer} H{COLUMN - 8} m-8,-5 l8,5 l-8,5"/>')
    for y, words, style in (
        (bottom - 46, "Run Cell, or Shift+Enter, runs the cell and shows its", "hint"),
        (bottom - 29, "result in the pane beside it.", "hint"),
        (bottom - 8, "A drawing, not a screenshot: yours has other colours.", "lens"),
    ):
        put(LEFT, words, style)
    parts.append(
        f'<rect class="pane" x="{COLUMN}" y="{top}" width="{RIGHT}" height="{bottom - top}"/>'
    )
    drawn = re.sub(r"(<svg[^>]*?) width=", rf'\1 x="{COLUMN + 13}" y="{top + 14}" width=', result())
    parts.append(re.sub(r"@media[^{]*\{(?:[^{}]*\{[^}]*\})*\s*\}", "", drawn))  # light, as all here
    return CARD.format(
        width=COLUMN + RIGHT,
        height=bottom,
        parts="\n".join(parts),
        label="VS Code, drawn: a lesson as a Python file with the words Run Cell above each cell, "
        "and at the right the picture that the cell draws.",
    )


def result():
    """What the cell draws."""
    import numpy as np

    from tinytorch.pictures.tensor import draw_strides

    return draw_strides(np.array([[10, 11, 12], [20, 21, 22]]), (1, 2)).svg()


if __name__ == "__main__":
    (STATIC / "vscode.svg").write_text(vscode(), encoding="utf-8")
    if sys.argv[1:] != ["--drawing"]:
        (STATIC / "jupyterlab.png").write_bytes(jupyterlab())
    for name in ("vscode.svg", "jupyterlab.png"):
        print(f"book/_static/{name}: {(STATIC / name).stat().st_size / 1000:.0f} kB")
