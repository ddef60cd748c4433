"""Alembic: autogenerate of a model with all kinds of columns, and further autogenerates that find just what has changed."""

import pathlib
import shutil
import tempfile

import alembic
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.dialects import postgresql
from steps import end, step

CONVENTION = {
    "ix": "ix_%(column_0_label)s", "uq": "uq_%(table_name)s_%(column_0_name)s", "pk": "pk_%(table_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
}
ENVIRONMENT = """
import __main__
from alembic import context

with __main__.engine.connect() as connection:
    context.configure(connection=connection, target_metadata=__main__.target, compare_type=True, compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()
"""


def account(metadata, more):
    mood = sa.Enum("sad", "ok", "happy", name="mood", metadata=metadata)
    sa.Table(
        "account", metadata,
        sa.Column("id", sa.BigInteger, sa.Identity(always=True, start=10, increment=2), primary_key=True),
        sa.Column("email", sa.String(100), nullable=False, unique=True, comment="the address"),
        sa.Column("mood", mood, server_default="ok", nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("data", postgresql.JSONB, server_default=sa.text("'{}'::jsonb")),
        sa.Column("tags", postgresql.ARRAY(sa.Text), server_default="{}"),
        sa.Column("price", sa.Numeric(12, 2), server_default="1.50"),
        sa.Column("active", sa.Boolean(name="active"), server_default=sa.true()),
        sa.Column("key", sa.Uuid, server_default=sa.text("gen_random_uuid()")),
        sa.Column("double", sa.Numeric(12, 2), sa.Computed("price * 2", persisted=True)),
        sa.Column("day", sa.Date, index=True), sa.Column("hour", sa.Time), sa.Column("span", sa.Interval),
        sa.Column("raw", sa.LargeBinary), sa.Column("share", sa.Float), sa.Column("ratio", sa.Double),
        sa.Column("small", sa.SmallInteger, server_default=sa.text("3")),
        *more,
        sa.CheckConstraint("price > 0", name="price_positive"),
        sa.Index("ix_account_lower", sa.text("lower(email)"), unique=True),
        sa.Index("ix_account_desc", sa.text("created DESC NULLS LAST")),
        sa.Index("ix_account_active", "day", postgresql_where=sa.text("active")),
        sa.Index("ix_account_include", "key", postgresql_include=["day"]),
        sa.Index("ix_account_data", sa.text("(data ->> 'a')")),
        comment="accounts")


def post(metadata):
    sa.Table(
        "post", metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("account_id", sa.ForeignKey("account.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED"), index=True),
        sa.Column("title", sa.Text(), nullable=False), sa.Column("parent_id", sa.ForeignKey("post.id")),
        sa.UniqueConstraint("account_id", "title"))


def model(*more):
    metadata = sa.MetaData(naming_convention=CONVENTION)
    account(metadata, more)
    post(metadata)
    return metadata


def make_scripts():
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "versions").mkdir()
    (folder / "env.py").write_text(ENVIRONMENT)
    shutil.copy(pathlib.Path(alembic.__file__).parent / "templates/generic/script.py.mako", folder)
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")


def generate(message):
    """The body of upgrade() that autogenerate writes."""
    script = command.revision(config, message, autogenerate=True)
    text = pathlib.Path(script.path).read_text()
    return text[text.index("def upgrade"):text.index("def downgrade")]


def upgrade():
    command.upgrade(config, "head")


def first():
    body = generate("first")
    for part in ("create_table('account'", "create_table('post'", "sa.Identity(always=True", "ix_account_lower", "sa.Computed("):
        assert part in body, f"expected {part} in {body}"
    upgrade()


def second():
    body = generate("second")
    assert "op." not in body, f"expected nothing to do, found {body}"
    upgrade()
    command.check(config)


def change():
    global target
    target = model(sa.Column("phone", sa.String(20), index=True))
    body = generate("phone")
    operations = [line.strip() for line in body.splitlines() if "op." in line]
    assert len(operations) == 2 and "add_column" in operations[0] and "create_index" in operations[1], body
    upgrade()
    command.check(config)


def down_and_up():
    command.downgrade(config, "base")
    with engine.begin() as connection:
        left = sa.inspect(connection).get_table_names()
        assert left == ["alembic_version"], f"expected no other table than alembic_version, found {left}"
        connection.exec_driver_sql("DROP TYPE mood")  # Alembic leaves it.
    upgrade()
    command.check(config)


def addresses():
    global target
    target = model(sa.Column("phone", sa.String(20), index=True), sa.Column("address", postgresql.INET, server_default="127.0.0.1"),
                   sa.Column("network", postgresql.CIDR), sa.Column("device", postgresql.MACADDR))
    generate("addresses")
    upgrade()
    command.check(config)


engine = sa.create_engine("postgresql+psycopg://")
config = Config()
target = model()
make_scripts()
step("first autogenerate", first)
step("second autogenerate finds nothing", second)
step("autogenerate of a change", change)
step("downgrade and upgrade", down_and_up)
step("inet, cidr, macaddr", addresses)
end()
