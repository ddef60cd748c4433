"""SQLAlchemy: create_all, the ORM, reflection, and a second create_all that finds everything there."""

import datetime
import decimal
import enum

from sqlalchemy import (CheckConstraint, Date, Enum, ForeignKey, Index, MetaData, Numeric, String, UniqueConstraint,
                        create_engine, func, inspect, select, text)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship, selectinload


class Base(DeclarativeBase):
    pass


class Kind(enum.Enum):
    small = "small"
    large = "large"


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30), unique=True)
    born: Mapped[datetime.date | None] = mapped_column(Date)
    details: Mapped[dict | None] = mapped_column(JSONB)
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    __table_args__ = (
        CheckConstraint("price >= 0", name="price_not_negative"), UniqueConstraint("author_id", "title"),
        Index("book_title", "title"))
    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id", ondelete="CASCADE"))
    title: Mapped[str]
    price: Mapped[decimal.Decimal] = mapped_column(Numeric(10, 2), server_default="0")
    tags: Mapped[list[str] | None] = mapped_column(ARRAY(String))
    kind: Mapped[Kind | None] = mapped_column(Enum(Kind))
    made: Mapped[datetime.datetime] = mapped_column(server_default=func.now())
    author: Mapped[Author] = relationship(back_populates="books")


engine = create_engine("postgresql+psycopg2://")
Base.metadata.create_all(engine)
Base.metadata.create_all(engine)
with Session(engine) as session:
    ann = Author(name="Ann", born=datetime.date(1970, 1, 2), details={"a": 1}, books=[
        Book(title="One", price=decimal.Decimal("3.50"), tags=["x", "y"], kind=Kind.small), Book(title="Two")])
    session.add_all([ann, Author(name="Bob")])
    session.commit()
    assert ann.books[0].made is not None
    found = session.scalars(select(Author).options(selectinload(Author.books)).order_by(Author.name)).all()
    assert [(author.name, len(author.books)) for author in found] == [("Ann", 2), ("Bob", 0)]
    joined = session.scalars(select(Book).options(joinedload(Book.author)).where(Book.tags.contains(["x"]))).all()
    assert [(book.title, book.author.name, book.kind) for book in joined] == [("One", "Ann", Kind.small)]
    counted = session.execute(
        select(Author.name, func.count(Book.id)).join(Author.books, isouter=True).group_by(Author.name)
        .order_by(Author.name)).all()
    assert counted == [("Ann", 2), ("Bob", 0)], counted
    assert session.scalar(select(Author.name).where(Author.details["a"].astext == "1")) == "Ann"
    upsert = insert(Author).values(name="Ann", born=None)
    session.execute(upsert.on_conflict_do_update(index_elements=["name"], set_={"born": upsert.excluded.born}))
    session.commit()
    session.delete(ann)
    session.commit()
    assert session.scalar(select(func.count()).select_from(Book)) == 0

seen = inspect(engine)
assert seen.get_table_names() == ["author", "book"] or set(seen.get_table_names()) >= {"author", "book"}
columns = {column["name"]: column for column in seen.get_columns("book")}
assert str(columns["price"]["type"]) == "NUMERIC(10, 2)" and not columns["price"]["nullable"], columns
assert seen.get_pk_constraint("book")["constrained_columns"] == ["id"]
[key] = seen.get_foreign_keys("book")
assert (key["referred_table"], key["options"]) == ("author", {"ondelete": "CASCADE"}), key
assert {index["name"] for index in seen.get_indexes("book")} >= {"book_title"}
assert [unique["column_names"] for unique in seen.get_unique_constraints("book")] == [["author_id", "title"]]
assert [check["name"] for check in seen.get_check_constraints("book")] == ["price_not_negative"]
reflected = MetaData()
reflected.reflect(engine)
assert {"author", "book"} <= set(reflected.tables)
assert repr(reflected.tables["book"].c.kind.type).startswith("ENUM('small', 'large'")
Base.metadata.drop_all(engine)
with engine.connect() as connection:
    assert connection.execute(text("SELECT count(*) FROM pg_class WHERE relname = 'book'")).scalar() == 0
