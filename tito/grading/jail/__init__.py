"""The judge, which runs the checks of a lesson on a submission, and the jail in which the learner's
code runs.

`reader.SubmissionReader(lessons, limits, open_submission, compiled).read(submission)` returns the
Contents of a submission and the Code of each lesson.
`judge.Judge(setting).grade(contents, codes, known)` returns a LessonResult for each lesson, or an
Unchanged for one whose key is known. A bad submission never raises an error. `book/security.md`
describes the attacks that this has to withstand.

judge.py       the trusted process: grades one submission, lesson by lesson, visible checks first
jailed_check.py  runs one check in the judge, on code that runs in the jail
modules.py     compiled lessons: a learner's, the released and the course's own
check_namespace.py  the namespace of a check in the judge
check_errors.py  status and message of a check that did not pass
proxy.py       proxies in the judge for the learner's classes, functions and objects
by_reference.py  compares results of the learner and of the course's solution
sheet.py       makes questions on a submission: runs changes of its lines as a check is run
wire.py        the messages between the two: plain data, length-prefixed
jail.py        starts the untrusted process at an isolation level
jailed_server.py  that process: loads the learner's code and answers requests; with
               `tito/lesson/conditions.py`, which it shares with `tito test`
confine.py     the limits it puts on itself: Landlock, seccomp, resource limits
reader.py      the process that opens and compiles submissions, with limits on time and memory
"""
