"""`tito gradebook page`: a page for the people who grade a class, on this machine only. It takes a
Gradebook and a function that starts a grading run (`regrade.StartGrading`); it returns nothing:
what graders decide goes into the gradebook.

access.py      who is let in: the token in the address, loopback, forms; headers for browsers
app.py         the pages, and what their forms do
class_list.py  the class as lists show it, pseudonyms, which submissions need review
submission_page.py  a submission, part by part
lexer.py       what to colour in a submission's code, in a process that is stopped in time
questions.py   free answers and their rubrics
similarity.py  pairs of submissions that are too much alike
regrade.py     a grading run beside the page: what it would change, before it counts
*.html         the pages, made by `html_pages.render`, so that every value is escaped
page.css, page.js  how they look, and the keys
"""
