"""Grading a class, from the folder of submissions to the gradebook and the learners' feedback.

Four rooms: intake/ (what was handed in, by whom and when), jail/ (the judge, and the process that
runs learners' code), gradebook/ (results, grades, what is made of them), page/ (the page for
graders). Beside them:

run.py         the class: collect, let workers judge, save; again after an interruption
executor.py    where the tasks of a run run: threads, or a Dask cluster
work_hash.py   the hash of all that decides the results of a submission
single_checks.py  results of single checks, put into those of whole lessons
dry_run.py     what a run would change: into a copy of the gradebook
setting.py     how a class is graded: what decides it, and the longest times
workers.py     the judges of a run, from outside
judge_process.py  one of them, from inside: opens a submission, then judges it
submission.py  what one learner handed in, before and after it is opened
result.py      what became of one lesson of one learner
arrival.py     when a file arrived, and who says so
roster.py      who is in the class, and whose a submission is by its name
csv_tables.py  CSV: reading other programs' tables, writing cells that never become a formula
safe_text.py   text of others, as a terminal may show it
views.py       how it looks in a terminal
sample.py      a made-up class, to try all this on
Dockerfile     the grader as a container
"""
