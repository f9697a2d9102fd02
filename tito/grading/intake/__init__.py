"""Intake: the folder or zip of submissions goes in; learners, lesson files and times come out.

`collect.find_submissions(path, lessons, roster, submitted)` returns a `Submission` for each
learner: what they handed in, and when it arrived. Nothing is opened for that.
`open_submission.open_submission` returns the `Contents` of one Submission: the file of each lesson
that counts, or a sentence that says why there is none. Nothing here raises over what a learner did.

collect.py           which entries are whose, and in which order
inbox.py             the entries of the folder or zip, and what a collecting system put beside them
submission_times.py  when work arrived: names and tables of Canvas, Moodle and Gradescope
open_submission.py   the files of each lesson in one learner's folders and zips
lesson_file.py       of several files of a lesson, the one that counts: its text and cells
archives.py          folders and zips that nobody vouches for, read without following anything
"""
