"""What a learner does: a workspace, tests of what they wrote, hints, progress, handing in."""
