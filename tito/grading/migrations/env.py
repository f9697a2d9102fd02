"""Alembic runs this for each upgrade; `database.connect` hands it the connection, inside a transaction."""

from alembic import context

from tito.grading.database import VERSION_TABLE
from tito.grading.tables import TABLES

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=TABLES, version_table=VERSION_TABLE)
context.run_migrations()
