"""SQLAlchemy's dialect suite, which is what makers of dialects run, from its source distribution.

At least so many of its tests pass on PostgreSQL as are given below; this share of them must pass.
"""

import os
import re
import sys

import sqlalchemy as sa
from steps import end, step
from suites import output, sources

PASS_ON_POSTGRESQL = 1883
SHARE = 0.95
SHOWN_FAILURES = 12


def make_schemas():
    """As SQLAlchemy's README.unittests.rst asks for."""
    with sa.create_engine("postgresql+psycopg://").begin() as connection:
        for name in ("test_schema", "test_schema_2"):
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")


def number(kind, summary):
    found = re.search(rf"(\d+) {kind}", summary)
    return int(found[1]) if found else 0


def suite():
    folder = sources("SQLAlchemy")
    url = sa.URL.create("postgresql+psycopg", os.environ["PGUSER"], os.environ.get("PGPASSWORD"), os.environ["PGHOST"],
                        int(os.environ["PGPORT"]), os.environ["PGDATABASE"])
    command = [sys.executable, "-m", "pytest", "-p", "no:logging", "--quiet", "--maxfail=10000", "-rfE", "--tb=line",
               "--dburi", url.render_as_string(hide_password=False), "test/dialect/test_suite.py"]
    printed = output(command, folder, dict(os.environ), folder.parent / "sqlalchemy-suite.log")
    summary = printed.strip().splitlines()[-1]
    passed = number("passed", summary)
    summaries.append(f"{passed} of {PASS_ON_POSTGRESQL} tests passed, {number('skipped', summary)} skipped")
    bad = re.findall(r"^(?:FAILED|ERROR) .*", printed, re.MULTILINE)
    shown = "\n".join(line[:300] for line in bad[:SHOWN_FAILURES]) or "\n".join(printed.splitlines()[-4:])
    assert passed >= SHARE * PASS_ON_POSTGRESQL, (
        f"expected {SHARE:.0%} of {PASS_ON_POSTGRESQL} tests to pass; {summary}\n{shown}")


summaries = []
step("schemas", make_schemas)
step("suite", suite)
end(" ".join(summaries))
