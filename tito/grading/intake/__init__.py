"""Intake: find the learners, lesson files and times in a folder or zip of submissions.

`collect.find_submissions(path, lessons, roster, submitted)` returns a `Submission` for each
learner: the entries that they handed in, not opened yet, and when these arrived.
`open_submission.open_submission` returns the `Contents` of one Submission: the file that counts for
each lesson, or a sentence that says why there is none. A bad submission never raises an error.

collect.py           which entries belong to which learner, and in which order
inbox.py             the entries of the folder or zip, and the files that a collecting system added
submission_times.py  when work arrived: names, metadata and tables of the systems in `lms/`
time_columns.py      which column of a table of times is which, also in other languages
open_submission.py   the files of each lesson in one learner's folders and zips
lesson_file.py       choose the file of a lesson that counts, and read its text and cells
archives.py          read untrusted folders and zips without following links
"""
