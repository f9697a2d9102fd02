"""Tools for authors: the gate that a lesson has to pass, and the formats to publish a course in."""
