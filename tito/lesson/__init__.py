"""What a lesson is: its files read, held to their form, exported and made into other forms.

Knows nothing of progress or grades.
"""
