"""The steps of a program: each is tried, those that fail are named at the end."""

import sys

SHOWN_LINES = 14
done, failed = [], []


def step(name, work, *arguments):
    """Whether it has succeeded."""
    try:
        work(*arguments)
    except Exception as error:
        print(f"{name}: {type(error).__name__}", *str(error).splitlines()[:SHOWN_LINES], sep="\n    ", flush=True)
        failed.append(name)
        return False
    done.append(name)
    return True


def end(summary=""):
    """Ends the program."""
    if failed:
        print(f"{len(failed)} of {len(done) + len(failed)} steps failed. {summary}")
        sys.exit(1)
    print(summary or f"{len(done)} steps")
    sys.exit(0)
