"""Django's own tests of some of its applications, from its source distribution. All that run on PostgreSQL must pass.

`--all` runs more of them.
"""

import os
import re
import sys

from steps import end, step
from suites import output, sources

APPLICATIONS = {
    "users": "auth_tests contenttypes_tests sessions_tests",
    "admin": "admin_views admin_widgets admin_utils admin_ordering admin_changelist admin_filters admin_inlines",
    "queries": "queries lookup aggregation annotations expressions",
    "models": "bulk_create transactions select_for_update get_or_create many_to_many m2m_through prefetch_related"
              " expressions_window",
}
MORE_APPLICATIONS = {
    # These make columns with collations of their own.
    "fields": "model_fields db_functions",
    "schema": "schema migrations introspection inspectdb backends constraints indexes model_indexes",
    "relations": "many_to_one many_to_one_null m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress m2m_signals"
                 " m2m_through_regress m2o_recursive one_to_one foreign_object generic_relations generic_relations_regress"
                 " nested_foreign_keys null_fk null_fk_ordering null_queries known_related_objects reverse_lookup"
                 " select_related select_related_onetoone select_related_regress",
    "more models": "aggregation_regress basic composite_pk custom_columns custom_lookups custom_managers custom_methods"
                   " custom_pk dates datetimes defer defer_regress delete delete_regress distinct_on_fields expressions_case"
                   " extra_regress field_defaults filtered_relation force_insert_update from_db_value get_earliest_or_latest"
                   " model_inheritance model_inheritance_regress model_formsets model_forms model_regress or_lookups"
                   " order_with_respect_to ordering pagination properties proxy_models raw_query reserved_names"
                   " save_delete_hooks string_lookup timezones transaction_hooks unmanaged_models update update_only_fields"
                   " validation xor_lookups",
    "around": "serializers fixtures fixtures_regress async multiple_database migrate_signals sites_tests flatpages_tests"
              " redirects_tests generic_views test_utils",
}
# The others are skipped there, for they miss something that is not the server's.
PASS_ON_POSTGRESQL = {"users": 1543, "admin": 777, "queries": 1020, "models": 497, "fields": 808, "schema": 1424,
                      "relations": 431, "more models": 1512, "around": 927}
SHOWN_FAILURES = 12


def number(kind, printed):
    found = re.findall(rf"[(,] ?{kind}=(\d+)", printed)
    return int(found[-1]) if found else 0


def failures(printed):
    """The tests that fail, each with its error."""
    blocks = re.findall(r"^={70}\n(?:ERROR|FAIL): (.*?)\n(.*?)(?=^={70}|^-{70}\nRan)", printed, re.MULTILINE | re.DOTALL)
    lines = []
    for name, text in blocks:
        errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|DoesNotExist|Failure)\b.*", text, re.MULTILINE)
        lines.append(f"{name}: {errors[-1] if errors else ''}")
    return lines[:SHOWN_FAILURES] or printed.splitlines()[-3:]


def run(group, applications):
    folder = sources("Django")
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, "runtests.py", "--settings=django_suite_settings", "--parallel=1", "--noinput",
               *applications.split()]
    printed = output(command, folder / "tests", {**os.environ, "PYTHONPATH": here}, folder.parent / f"django-{group}.log")
    ran = re.search(r"^Ran (\d+) tests", printed, re.MULTILINE)
    bad = number("failures", printed) + number("errors", printed) + number("unexpected successes", printed)
    passed = int(ran[1]) - bad - number("skipped", printed) if ran else 0
    expected = PASS_ON_POSTGRESQL[group]
    counts.append(passed)
    assert bad == 0 and passed >= expected, (
        f"{passed} tests pass, {expected} on PostgreSQL\n" + "\n".join(failures(printed)))


counts = []
for group, applications in {**APPLICATIONS, **(MORE_APPLICATIONS if "--all" in sys.argv else {})}.items():
    step(group, run, group, applications)
end(f"{sum(counts)} tests passed")
