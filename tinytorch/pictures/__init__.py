"""What the chapters draw: one module for each lesson, and `drawing` for what several of them use.

The library never imports this package.
"""
