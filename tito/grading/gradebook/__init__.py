"""The gradebook. It takes the results of a run (`result_store.Saving`), a class list, and what
people decide (`RequestedChange`, `NewJudgement`, `RubricChange`); it returns Grades, the history of
every change, exports, and the learners' feedback.

gradebook.py   Gradebook: opened by a command, asked for grades, history and learners

What it keeps:

tables.py      the tables
database.py    connections, transactions, the version of the schema
run_lock.py    one run at a time grades into a gradebook
learners.py    the rows of learners: find them, lock them for a change, remember them
enrollment.py  who is in the class: rosters, who left, merged ids, strangers
class_lists.py the list of a class as Canvas, Moodle, Gradescope, ... write it
result_store.py  the results of a submission
history.py     an entry for each change of a grade
instructions.py  what people decided, as the history has it

How results become grades:

late.py        the rules in tito.toml: what lateness costs, which submission counts
rubric.py      what a free answer counts
grade.py       Grade, and its parts
counting.py    from results and instructions to a Grade

What people change:

requested_changes.py  points, comments and more time, by hand or from a table
changes.py     making them, all or none
answers.py     free answers: reading and judging them, changing their rubrics

What is made of it:

exercise_table.py  how a class did in each exercise
exports.py     files for other systems
junit.py       one of them: JUnit XML
feedback.py    a page for each learner
deliver.py     those pages in zips for Moodle and Canvas, and a table for a mail merge
html_pages.py  what all HTML pages share; `*.html` here and in `page/`: their templates
views.py       how it looks in a terminal
"""
