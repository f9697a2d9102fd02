"""Grading a class, from the folder of submissions to the gradebook and the learners' feedback.

What was handed in, by whom and when:

class_lists.py the list of a class as Canvas, Moodle, Gradescope, ... write it; tables in CSV at all
roster.py      who is in the class, and whose a submission is by its name
boxes.py       folders and zips that nobody vouches for, read without following or trusting anything
arrived.py     when work arrived, and who says so
commits.py     when a clone's last commit claims to be made
inbox.py       the entries of the folder or zip of submissions, and what a collector put beside them
intake.py      what learners handed in: which entries are whose, and when they arrived
submission.py  one learner's entries, opened: the file of each lesson that counts
lesson_file.py one lesson's file: its text and cells, or why they cannot be read
reader.py      the process that opens and compiles them, with limits on time and memory

A run:

run.py         the class: tasks on workers, each result into the gradebook, again after an
               interruption
leases.py      which runs hold submissions, so that two share a class
trial.py       what a run would change: into a copy of the gradebook
setting.py     how a class is graded: what decides it, and the longest times
workers.py     the judges of a run, from outside

The judge, and the jail in which the learner's code runs:

judge.py       the trusted process: runs a lesson's checks against code that runs elsewhere
modules.py     lessons as modules of the package: a learner's, the released and the course's own
namespace.py   what a check sees in the judge
endings.py     words for how a check ended
proxy.py       what stands in the judge for the learner's classes, functions and objects
wire.py        what may go between the two: plain data, length-prefixed
jail.py        starts the untrusted process at an isolation level
inside.py      that process: loads the learner's code, answers calls
confine.py     the limits it puts on itself: Landlock, seccomp, resource limits

Values, which know no database:

result.py      what became of one lesson of one learner
rubric.py      free answers: a rubric's items, what a person said, what an answer counts
late.py        what lateness costs, and which submission counts: the rules in tito.toml
grade.py       what a grade is: results, overrides, judgements and lateness become one

The gradebook. A further table is declared in tables.py and comes into older books by a migration
in database.py; what persons write has a file of its own, as appeals.py:

tables.py      the tables
database.py    opening it: connections, transactions, the version of its schema
learners.py    its learners by id: found, locked while somebody writes about them, remembered
history.py     its entries for each change of a grade, and the Instructions that follow from them
saving.py      its results: how those of a submission are kept
attempts.py    which submissions grading has begun
gradebook.py   the whole: what a run writes into it, and what is read from it
decisions.py   overrides, extensions and comments by hand
bulk.py        those of many learners, from a table
answers.py     free answers: reading them, their rubrics, judging them
enrollment.py  who is in the class of a gradebook: rosters, who left, merged ids, strangers
claims.py      which person looks at which submission
appeals.py     what learners asked about a grade, and what came of it

What is made of it:

serve/         a page for graders, on this machine
items.py       how a class did in each check and exercise
item_plots.py  that as pictures
exports.py     the gradebook as other systems read it
spreadsheet.py their cells: never a formula, and how they read back
nbgrader_book.py  the gradebook as nbgrader's database
feedback.py    a page for each learner
deliver.py     those pages in zips for Moodle and Canvas, and a table for a mail merge
similar.py     pairs of submissions that are too much alike
pages.py       what all HTML pages share; `*.html` beside it: their templates
views.py       how it looks in a terminal

sample.py      a made-up class, to try all this on
Dockerfile     the grader as a container
"""
