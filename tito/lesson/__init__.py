"""Read lessons, validate them, export them, and convert them to other formats.

This package does not use progress or grades.
"""
