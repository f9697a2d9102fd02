"""How the class did in each exercise and check, as `tito gradebook items` has it, with pictures."""

from markupsafe import Markup
from starlette.requests import Request

from tito.grading.gradebook import enrollment, item_plots, items


class Items:
    """page: the `app.Page` that shows it; entries: the lessons of the course (course.Entry)."""

    def __init__(self, page, entries):
        self.page, self.book, self.entries = page, page.book, entries

    def overview(self, request: Request, session):
        """The lessons that were graded."""
        chosen = self.page._filter(request.query_params)
        graded = self.book.lessons()
        lessons = [(number, name, title) for name, (number, title, _) in graded.items()]
        return self.page._show(session, "items.html", lessons=lessons, filter=chosen)

    def lesson(self, request: Request, session):
        """One lesson's items."""
        name, chosen = request.path_params["lesson"], self.page._filter(request.query_params)
        section = chosen.section or None
        if section:
            enrollment.section(self.book, section)  # raises TitoError when nobody is in it
        entries = [entry for entry in self.entries if entry.name == name]
        found = items.analyse(self.book, entries, name, section)
        if not found:
            return self.page._missing(session, f"Nothing of a lesson {name!r} is graded.")
        pictures = [Markup(draw(found[0])) for draw in (item_plots.shares, item_plots.course)]
        return self.page._show(
            session, "items_of.html", found=found[0], pictures=pictures, filter=chosen
        )
