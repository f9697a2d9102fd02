"""The work of a learner: workspace, tests, hints, progress, submissions, updates."""
