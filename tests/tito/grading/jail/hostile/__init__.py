"""Hostile submissions, by what they try.

`course.py` is the course they attack, `submission.py` what they all may use.
"""
