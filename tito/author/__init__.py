"""What a course's author needs: the gate of a lesson, and what is published from the course."""
