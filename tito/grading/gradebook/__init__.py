"""The gradebook. Input: the results of a run (`result_store.Saving`), class lists, and changes by
instructors (`RequestedChange`). Output: Grades, the history of all changes, exports, and feedback
for learners.

gradebook.py   Gradebook: the open gradebook; commands ask it for grades, history and learners

Storage:

tables.py      the tables
database.py    connections, transactions, the version of the schema
copying.py     copy a gradebook into another database
run_lock.py    the lock that allows only one run at a time
learners.py    rows of learners: find, lock and save them
enrollment.py  who is in the class: rosters, who left, merged ids, strangers
merging.py     two ids of one learner become one, and two again
class_lists.py the list of a class as a system of `lms/` writes it, or your own
learner_data.py  everything about a learner: show it, delete it
result_store.py  the results of a submission
history.py     an entry for each change of a grade
instructions.py  overrides, comments and extensions that follow from the history

From results to grades:

late.py        the rules in tito.toml: what lateness costs, which submission counts
grade.py       Grade, and its parts
counting.py    from results and instructions to a Grade

Changes by instructors:

requested_changes.py  points, comments and extensions, from options or a table
changes.py     apply such changes, all or none
answers.py     free answers, which persons judge: their texts, equal ones, how many are open

Exports and views:

exercise_table.py  how a class did in each exercise
exports.py     the grades as plain values, and files for other systems
feedback.py    a page for each learner
deliver.py     zips of these pages for other systems, and a table for a mail merge
html_pages.py  names and writes the files of pages; `*.html`: their templates, see `tito/html.py`
views.py       output for the terminal
"""
