"""Modules that the lessons use and do not teach; each is ordinary code with tests in
tests/tinytorch/support/.
"""
