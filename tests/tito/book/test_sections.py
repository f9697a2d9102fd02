"""The pages that a long page is split in."""

from tito.book import sections

LONG = """# Long

Before: see [below](#second).

<!-- made: sections -->

## The first

See [it](#lower), [short](short.md) and `## no heading`.

```sh
## no heading
x[0](#second)
```

### Lower

## Second

[Up](#lower) and [the web](https://example.org/#second).
"""


def test_a_long_page_has_a_page_for_each_section_and_its_addresses_are_still_found():
    out = sections.split_pages(
        {"long.md": LONG, "short.md": "[a](long.md#lower) [b](long.md)", "c.py": ""}
    )
    assert list(out) == ["long.md", "long/the-first.md", "long/second.md", "short.md", "c.py"]
    assert "[below](long/second.md)" in out["long.md"] and "## " not in out["long.md"]
    assert '<li id="lower"><a href="long/the-first.html#lower">' in out["long.md"]
    assert '<li id="second"><a class="section-link" href="long/second.html">' in out["long.md"]
    assert "[it](#lower), [short](../short.md) and" in out["long/the-first.md"]
    assert "## no heading\nx[0](#second)" in out["long/the-first.md"]
    assert "[Up](the-first.md#lower) and [the web](https://" in out["long/second.md"]
    assert out["short.md"] == "[a](long/the-first.md#lower) [b](long.md)"


def test_the_lines_of_a_part_are_those_of_the_whole_page():
    out = sections.split_pages({"long.md": LONG})
    lines = out["long/second.md"].split("\n")
    assert lines.index("# Second") == LONG.split("\n").index("## Second")
    message = "book/long/second.md:22: WARNING: x"
    assert sections.with_places_of_pages(message) == "book/long.md:22: WARNING: x"
