"""How Alembic reaches a study's database: by the connection of the store that asks for it."""

from alembic import context

from winokit_collect.study.schema import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
context.run_migrations()
