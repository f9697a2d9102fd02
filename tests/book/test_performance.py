"""The page on performance: what the benchmarks stored, as tables with bars and as plots."""

import importlib.util
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "book" / "performance.py"


@pytest.fixture
def page(tmp_path):
    """The program, which reads what is stored in a folder that is empty."""
    spec = importlib.util.spec_from_file_location("performance", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.MEASURED = tmp_path
    return module


def stored(page, name, found):
    (page.MEASURED / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")


def words(text):
    return " ".join(re.sub(r"<(title|desc)>.*?</\1>|<[^>]*>", " ", text).split())


def engine(**ratios):
    """What benchmarks/engine.py prints of one workload: ours took 1 s."""
    measured = [
        {"peer": peer, "seconds": 1.0, "peer_seconds": 1 / ratio, "ratio": ratio}
        for peer, ratio in ratios.items()
    ]
    one = {"name": "w1", "about": "a step", "unit": "step", "measurements": measured}
    return {"runs": 3, "peers": dict.fromkeys(ratios, "1.0"), "workloads": [one]}


def bars(text):
    """{class: length or place} of the first bar of a table."""
    bar = re.search(r"<svg class=\"bar\".*?</svg>", text[text.index("<tbody>") :], re.S)[0]
    lengths = {
        names: float(width)
        for names, width in re.findall(r'<rect class="([\w ]+)"[^>]* width="([\d.]+)"', bar)
    }
    return lengths | {
        name: float(place) for name, place in re.findall(r'<path class="(\w+)" d="M([\d.]+)', bar)
    }


def test_a_table_has_a_row_for_each_workload_and_a_column_for_each_peer(page):
    one = {
        "command": "tito status",
        "peer": "bare program",
        "seconds": 0.0625,
        "peer_seconds": 0.05,
        "ratio": 1.25,
    }
    stored(page, "cli", {"runs": 9, "lesson": "tensor", "measurements": [one]})
    shown = words(page.performance()).replace("\xa0", " ")
    assert "tito status 62.5 ms 1.25 50 ms bare program" in shown
    assert "python benchmarks/engine.py --json > book/measured/engine.json" in shown
    stored(page, "engine", engine(numpy=1.5, torch=0.75, mygrad=0.2))
    text = page.performance()
    heads = re.findall(r'<th scope="col">(.*?)</th>', text)
    assert heads[:5] == ["workload", "tinytorch", "tuned NumPy", "PyTorch", "mygrad"]


def test_the_versions_of_a_program_have_their_times_and_memory(page):
    library = {"microseconds": 41000, "ratio": [1, 1], "peak_bytes": 85e6}
    versions = {"library": library, "C": {"missing": "no compiler"}}
    stored(page, "compilation", {"workloads": [{"name": "gpt", "versions": versions}]})
    shown = words(page.performance()).replace("\xa0", " ")
    assert "gpt 41 ms 1.00 to 1.00 × 85 MB" in shown


def test_a_bar_is_our_share_of_the_peers_time_and_the_notch_that_of_numpy(page):
    stored(page, "engine", engine(numpy=1.5, torch=0.75))
    bar = bars(page.performance())
    assert bar["ours"] / bar["theirs"] == pytest.approx(0.75, abs=1e-3)
    assert bar["bound"] / bar["theirs"] == pytest.approx(0.5, abs=1e-3)
    assert "0.75 of the time of PyTorch; tuned NumPy 0.50" in page.performance()


def test_a_bar_of_a_slower_engine_says_so_and_stays_in_its_place(page):
    stored(page, "engine", engine(torch=40.0))
    bar = bars(page.performance())
    assert bar["ours slower"] == 100 and "beyond" in bar and "bound" not in bar


def test_the_growth_of_a_class_is_drawn_with_its_line(page):
    points = [
        {"submissions": n, "seconds": 2 + n / 10, "peak_bytes": 1.5e8} for n in (50, 500, 1000)
    ]
    line = {"start": 2.0, "each": 0.1, "off_percent": 0.0}
    growth = {"points": points, "lines": {"seconds": line}, "memory_ratio": 1.0}
    both = [growth | {"workers": workers} for workers in (1, 2)]
    found = {"runs": 2, "isolation": "bubblewrap", "class": [], "ratios": [], "growth": both}
    stored(page, "grading", found)
    text = page.performance()
    times, memory = re.findall(r"<svg viewBox.*?</svg>", text, re.S)
    first, second = re.findall(r'<g class="curve-\d">.*?</g>', times)
    (left, low), (right, high) = (
        map(float, end.split()) for end in re.search(r'd="M(.*?)"', first)[1].split("L")
    )
    dots = [tuple(map(float, dot)) for dot in re.findall(r'cx="(.*?)" cy="(.*?)"', first)]
    for x, y in dots:  # the line goes through the points
        assert y == pytest.approx(low + (high - low) * (x - left) / (right - left), abs=0.2)
    assert "1 worker<" in first and "2 workers" in second and memory.count("<circle") == 6
    assert "2 s, and 100 ms more for each" in words(text).replace("\xa0", " ")


@pytest.mark.parametrize("most", [0.7, 9, 56.2, 167, 1000, 10_000, 12_345])
def test_an_axis_has_few_round_steps_and_holds_the_largest(page, most):
    ticks, end = page._ticks(most)
    assert end >= most > end * 0.6 and 4 <= len(ticks) <= 6
    assert f"{ticks[1]:e}"[0] in "125"


def test_a_missing_line_of_a_benchmark_is_reported(page):
    stored(page, "cli", {"runs": 9})
    with pytest.raises(SystemExit, match=r"book/measured/cli.json is not what benchmarks/cli.py"):
        page.performance()


def test_the_stored_results_can_be_shown(page):
    page.MEASURED = PROGRAM.with_name("measured")
    text = page.performance()
    HTMLParser().feed(text)
    assert text.count("<table>") == 5 and text.count("<figure") == 1
    for block in re.findall(r"<figure.*?</figure>|<div.*?</div>", text, re.S):
        assert "\n\n" not in block, "a blank line would end the HTML in Markdown"
