"""Grading a class, from the folder of submissions to the gradebook and the learners' feedback.

Four packages: intake/ (finds and opens the submissions), jail/ (the judge, and the process that
runs learners' code), gradebook/ (results, grades, exports and feedback), page/ (the web page for
graders). The other modules:

run.py         grade a class: collect, judge in workers, save; continue after an interruption
setting.py     the settings of a run: policies of the course and limits; the hash of what decides
workers.py     run the tasks of a run: in threads with a judge process each, or on a Dask cluster
judge_process.py  the program of a judge process: opens submissions and judges them
submission.py  the submission of a learner, before and after it is opened, and when it arrived
result.py      the result of one lesson of one learner
times.py       times as systems and people write them; days of the calendar
roster.py      the learners of the class, and which learner a submission belongs to
sheets.py      questions on the code of each submission, and the answers, for a talk
views.py       format results for the terminal
sample.py      a sample class to try grading with
Dockerfile     the grader as a container
"""
