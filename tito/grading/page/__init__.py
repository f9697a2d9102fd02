"""`tito gradebook page`: a web page for graders, on this machine only.

Its input is a Gradebook. It writes the graders' decisions into the gradebook.

access.py      access control: the token in the address, loopback, forms; headers for browsers
app.py         the pages, and what their forms do
shell.py       the state of all requests, and how each page is shown
class_list.py  the class as lists show it, pseudonyms, which submissions need a person
submission_page.py  a submission, part by part
lexer.py       syntax highlighting of submitted code, in a process with a time limit
questions.py   free answers
forms.py       what forms contain
similarity.py  pairs of submissions that are too similar
*.html         the pages, made by `html.render`, so that every value is escaped
page.css, page.js  style and keys
"""
