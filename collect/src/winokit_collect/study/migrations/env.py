"""Run migrations on the database connection of the store that asks for them."""

from alembic import context

from winokit_collect.study.schema import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
context.run_migrations()
