"""Alembic: migrations up and down, and one that it makes itself by comparing the model with the database."""

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

engine = sa.create_engine("postgresql+psycopg2://")
with engine.begin() as connection:
    op = Operations(MigrationContext.configure(connection))
    op.create_table(
        "account", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(50), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.func.now()))
    op.create_table(
        "entry", sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", name="entry_account")),
        sa.Column("amount", sa.Integer))
    op.bulk_insert(sa.table("account", sa.column("name")), [{"name": "a"}, {"name": "b"}])
    op.add_column("account", sa.Column("email", sa.Text))
    op.execute("UPDATE account SET email = name || '@example.org'")
    op.alter_column("account", "email", nullable=False)
    op.alter_column("account", "name", new_column_name="title", existing_type=sa.String(50))
    op.alter_column("entry", "amount", type_=sa.Numeric(12, 2), existing_type=sa.Integer)
    op.alter_column("entry", "amount", server_default="0")
    op.create_index("account_title", "account", ["title"], unique=True)
    op.create_unique_constraint("account_email", "account", ["email"])
    op.create_check_constraint("entry_amount", "entry", "amount <> 1")
    op.rename_table("entry", "posting")
    op.drop_constraint("entry_account", "posting", type_="foreignkey")
    op.create_foreign_key("posting_account", "posting", "account", ["account_id"], ["id"], ondelete="SET NULL")
with engine.begin() as connection:
    rows = connection.execute(sa.text("SELECT title, email FROM account ORDER BY id")).all()
    assert rows == [("a", "a@example.org"), ("b", "b@example.org")], rows
    model = sa.MetaData()
    sa.Table(
        "account", model, sa.Column("id", sa.Integer, primary_key=True), sa.Column("title", sa.String(50), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("email", sa.Text, nullable=False), sa.Column("phone", sa.Text),
        sa.Index("account_title", "title", unique=True), sa.UniqueConstraint("email", name="account_email"))
    changes = compare_metadata(MigrationContext.configure(connection), model)
    kinds = sorted(change[0] if isinstance(change, tuple) else change[0][0] for change in changes)
    assert kinds == ["add_column", "remove_table"], changes
    op = Operations(MigrationContext.configure(connection))
    op.drop_table("posting")
    op.drop_column("account", "email")
    op.drop_table("account")
