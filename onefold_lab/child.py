"""`python -m onefold_lab.child MODULE ...`: a module as a program that ends with the process that started it.

A process that is killed cannot end what it started. So each child reads its standard input, a pipe to which nobody writes:
it ends when the process at the other end has ended, in whatever way.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """Run the module that the first argument names, with the other arguments, until standard input ends."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
