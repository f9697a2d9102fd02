"""The site made from the lessons and the pages in `book/`; `build.py` has the map."""
