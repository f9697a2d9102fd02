"""The gradebook: LessonResults and what people say go in; grades, exports and feedback come out.

class_lists.py the list of a class as Canvas, Moodle, Gradescope, ... write it
tables.py      the tables
database.py    opening it: connections, transactions, the version of its schema
learners.py    its learners by id: found, locked while somebody writes about them, remembered
history.py     its entries for each change of a grade, and the Instructions that follow from them
result_store.py  its results: how those of a submission are kept
attempts.py    which submissions grading has begun
gradebook.py   the whole: what a run writes into it, and what is read from it
overrides.py   overrides, extensions and comments by hand
bulk.py        those of many learners, from a table
answers.py     free answers: reading them, their rubrics, judging them
enrollment.py  who is in the class of a gradebook: rosters, who left, merged ids, strangers
claims.py      which person looks at which submission
appeals.py     what learners asked about a grade, and what came of it
leases.py      which runs hold submissions, so that two share a class
rubric.py      free answers: a rubric's items, what a person said, what an answer counts
late.py        what lateness costs, and which submission counts: the rules in tito.toml
grade.py       what a grade is: results, overrides, judgements and lateness become one
items.py       how a class did in each check and exercise
item_plots.py  that as pictures
exports.py     the gradebook as other systems read it
junit.py       a lesson's result as JUnit XML
nbgrader_book.py  the gradebook as nbgrader's database
feedback.py    a page for each learner
deliver.py     those pages in zips for Moodle and Canvas, and a table for a mail merge
html_pages.py  what all HTML pages share; `*.html` here and in `page/`: their templates
"""
