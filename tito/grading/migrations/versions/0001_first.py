"""The first schema: learners, results, changes. A migration that was released is never edited; a change is a new file."""

import sqlalchemy as sql
from alembic import op

revision, down_revision = "0001", None


def upgrade():
    op.create_table(
        "learner",
        sql.Column("student", sql.String(500), primary_key=True),
        sql.Column("name", sql.Text, nullable=False),
        sql.Column("columns", sql.Text, nullable=False),
    )
    op.create_table(
        "result",
        sql.Column("student", sql.String(500), sql.ForeignKey("learner.student"), primary_key=True),
        sql.Column("lesson", sql.String(100), primary_key=True),
        sql.Column("number", sql.Integer, nullable=False),
        sql.Column("title", sql.Text, nullable=False),
        sql.Column("max_points", sql.Integer, nullable=False),
        sql.Column("key", sql.String(255), nullable=False),
        sql.Column("sha256", sql.String(64), nullable=False),
        sql.Column("arrived", sql.DateTime),
        sql.Column("graded", sql.DateTime, nullable=False),
        sql.Column("value", sql.Text, nullable=False),
    )
    op.create_table(
        "change",
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("student", sql.String(500), sql.ForeignKey("learner.student"), nullable=False),
        sql.Column("lesson", sql.String(100)),
        sql.Column("check_id", sql.Text),
        sql.Column("kind", sql.String(20), nullable=False),
        sql.Column("who", sql.Text, nullable=False),
        sql.Column("at", sql.DateTime, nullable=False),
        sql.Column("why", sql.Text, nullable=False),
        sql.Column("old_points", sql.Integer),
        sql.Column("new_points", sql.Integer),
        sql.Column("points", sql.Integer),
        sql.Column("text", sql.Text),
        sql.Column("until", sql.DateTime),
        sql.Column("days", sql.Integer),
        sql.Column("checks", sql.Text),
        sql.Column("replaced", sql.Text),
    )
    op.create_index("change_of_learner", "change", ["student", "lesson"])
