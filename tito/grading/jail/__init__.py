"""The judge, and the jail in which a learner's code runs: a submission and a lesson's checks go in,
LessonResults come out.

`reader.SubmissionReader(lessons, limits, open_submission, compiled).read(submission)` returns the
Contents of a submission and the Code of each lesson.
`judge.Judge(setting).grade(contents, codes, known)` returns a LessonResult for each lesson, or an
Unchanged for one whose key is known. Neither raises over what a learner did. What an attacker may
try is in `book/security.md`.

judge.py       the trusted process: grades one submission, lesson by lesson, visible checks first
check_run.py   runs one check there, against code that runs elsewhere
modules.py     lessons as modules of the package: a learner's, the released and the course's own
check_namespace.py  what a check sees in the judge
check_errors.py  words for how a check ended
proxy.py       what stands in the judge for the learner's classes, functions and objects
wire.py        what may go between the two: plain data, length-prefixed
jail.py        starts the untrusted process at an isolation level
jailed_server.py  that process: loads the learner's code, answers calls
confine.py     the limits it puts on itself: Landlock, seccomp, resource limits
reader.py      the process that opens and compiles submissions, with limits on time and memory
"""
