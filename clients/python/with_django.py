"""Django: migrate of its own applications, the ORM over them, and models of its own with an altered field."""

import os

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
                           "USER": os.environ["PGUSER"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
                           "PASSWORD": os.environ.get("PGPASSWORD", "")}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions",
                    "django.contrib.admin", "django.contrib.messages"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=True, SECRET_KEY="x",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"])
django.setup()

from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Count, F, Q, Sum

call_command("migrate", verbosity=0)
call_command("migrate", verbosity=0)
ann = User.objects.create_user("ann", "ann@example.org", "secret")
group = Group.objects.create(name="readers")
group.permissions.add(*Permission.objects.all()[:3])
ann.groups.add(group)
assert User.objects.filter(groups__name="readers", is_active=True).count() == 1
assert Group.objects.annotate(number=Count("permissions")).get().number == 3
try:
    with transaction.atomic():
        User.objects.create_user("ann")
    raise AssertionError("a second ann")
except IntegrityError:
    pass
User.objects.bulk_create([User(username=f"u{number}") for number in range(50)])
assert User.objects.filter(Q(username__startswith="u") & ~Q(username__icontains="1")).count() == 36
assert list(User.objects.order_by("username").values_list("username", flat=True)[:2]) == ["ann", "u0"]
with transaction.atomic():
    assert User.objects.select_for_update().get(username="u1").username == "u1"
User.objects.filter(username="u1").update(first_name=F("username"))
assert User.objects.get(username="u1").first_name == "u1"
assert ann.has_perm("admin.add_logentry") in (True, False)


class Account(models.Model):
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="accounts")
    title = models.CharField(max_length=30)
    balance = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    details = models.JSONField(default=dict)
    opened = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bank"
        constraints = [models.CheckConstraint(condition=Q(balance__gte=0), name="not_overdrawn"),
                       models.UniqueConstraint(fields=["owner", "title"], name="one_title")]
        indexes = [models.Index(fields=["title"], name="by_title")]


with connection.schema_editor() as editor:
    editor.create_model(Account)
Account.objects.create(owner=ann, title="a", balance=10, details={"k": [1, 2]})
Account.objects.create(owner=ann, title="b", balance=5)
assert Account.objects.aggregate(total=Sum("balance"))["total"] == 15
assert Account.objects.get(details__k__0=1).title == "a"
assert Account.objects.filter(opened__year__gte=2020).count() == 2
try:
    with transaction.atomic():
        Account.objects.filter(title="b").update(balance=F("balance") - 6)
    raise AssertionError("overdrawn")
except IntegrityError:
    pass
longer = models.CharField(max_length=60, default="none", db_index=True)
longer.set_attributes_from_name("title")
added = models.IntegerField(default=7)
added.set_attributes_from_name("level")
with connection.schema_editor() as editor:
    editor.alter_field(Account, Account._meta.get_field("title"), longer)
    editor.add_field(Account, added)
with connection.cursor() as cursor:
    cursor.execute("SELECT level FROM bank_account")
    assert cursor.fetchall() == [(7,), (7,)]
    names = connection.introspection.table_names(cursor)
    assert "bank_account" in names and "auth_user" in names
    found = connection.introspection.get_constraints(cursor, "bank_account")
    assert found["not_overdrawn"]["check"] and found["one_title"]["unique"], found
Account.objects.filter(title="a").delete()
assert Account.objects.count() == 1
Account.objects.all().delete()
ann.delete()
# flush empties the tables of installed applications, which others may not reference.
with connection.schema_editor() as editor:
    editor.delete_model(Account)
call_command("flush", verbosity=0, interactive=False)
