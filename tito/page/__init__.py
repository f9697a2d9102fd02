"""The one renderer of a lesson's page: for the site, and with the learner's state for `tito read`.

    lesson.py    the parts of a lesson's page, from its cells
    drawings.py  where drawings go among them
    prose.py     Markdown as HTML, with addresses for headings, paragraphs and terms
    render.py    parts as HTML, and a whole page from `page.html` with `static/`

A lesson may be another person's. Its text runs no script and loads nothing from another machine:
prose is HTML only where it is the course's own page.
"""
