"""`tito gradebook serve`: a page for the people who grade a class, on this machine only.

access.py  who is let in: the token in the address, loopback, forms; what browsers are told
class_list.py  the class as lists show it, pseudonyms, what needs a person
submission_page.py  a submission, part by part
questions.py  free answers and their rubrics
items.py   how the class did in each exercise and check
similarity.py  pairs of submissions that are too much alike
trials.py  `tito grade` as a process beside the page: what it would change, before it counts
app.py     the pages and what their forms do
*.html     the pages, made by `html_pages.render`, so that every value is escaped
page.css, page.js  how they look, and the keys
"""
