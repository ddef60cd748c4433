"""The settings with which with_django_suite.py runs Django's own tests: two databases, which the tests make."""

import os


def database(name):
    return {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
            "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"], "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "TEST": {"NAME": name}}


DATABASES = {"default": database("suite"), "other": database("suite_other")}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
