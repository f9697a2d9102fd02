"""Where a graded sample class is not as its `expected.json` says."""


def differences(expected, rows):
    """Where the rows of `tito grade --json` are not as expected: a sentence for each.

    Points are compared as they were before late rules.
    """
    by_lesson = {(row["student"], row["lesson"]): row for row in rows}
    sentences = []
    for learner in expected["learners"]:
        for lesson, wanted in learner["lessons"].items():
            row = by_lesson.get((learner["student"], lesson))
            who = f"{learner['student']} ({learner['kind']}), {lesson}"
            if row is None:
                sentences.append(f"{who}: no row")
            elif not wanted["least"] <= row["graded_points"] <= wanted["most"]:
                sentences.append(
                    f"{who}: {row['graded_points']} points, expected {wanted['least']} to "
                    f"{wanted['most']}: {row['verdict']}. {row['reason']}"
                )
            elif row["verdict"] not in wanted["verdicts"]:
                sentences.append(
                    f"{who}: verdict {row['verdict']}, expected {' or '.join(wanted['verdicts'])}: "
                    f"{row['reason']}"
                )
    return sentences
