"""Interrupts at any line of some modules, to see that nothing is left half done."""

import itertools
import linecache
import sys


class Interrupt(KeyboardInterrupt):
    pass


def interrupted(work, at, *modules, names=()):
    """Do some work with an interrupt before the line of that number in some modules; tell whether it came.

    Lines of `with` are left out: a lock is taken and given back by one step that nothing interrupts, and the
    tracer would put the interrupt into its middle.
    """
    files, lines = {module.__file__ for module in modules}, itertools.count()

    def watch(frame, event, _):
        name = frame.f_code.co_filename
        if name not in files or (names and frame.f_code.co_name not in names):
            return None
        is_with = linecache.getline(name, frame.f_lineno).lstrip().startswith("with ")
        if event == "line" and not is_with and next(lines) == at:
            sys.settrace(before)
            raise Interrupt
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        work()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def everywhere(attempt, *, least):
    """Interrupt at one line after another until the work is done before the interrupt comes."""
    for at in range(2000):
        if not attempt(at):
            assert at >= least, "the interrupts missed what they were meant for"
            return
    raise AssertionError("the work does not end")
