"""Intake: a folder or zip of submissions goes in; learners, lessons, bytes and times come out.

archives.py    folders and zips that nobody vouches for, read without following or trusting anything
submission_times.py  when work arrived, and who says so
inbox.py       the entries of the folder or zip of submissions, and what a collector put beside them
collect.py     what learners handed in: which entries are whose, and when they arrived
submission.py  one learner's entries, opened: the file of each lesson that counts
lesson_file.py one lesson's file: its text and cells, or why they cannot be read
"""
