"""Alembic runs this for each upgrade; `gradebook.open_gradebook` hands it the connection, inside a transaction."""

from alembic import context

from tito.grading.gradebook import TABLES, VERSION_TABLE

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=TABLES, version_table=VERSION_TABLE)
context.run_migrations()
