"""Whether this machine has the Java that Spark wants, and the command that brings it where it has not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

WANTED = 17
# Debian 12 has Java 17 under this name, Debian 13 has 21; neither has both.
COMMAND = "sudo apt-get update && sudo apt-get install --yes default-jre-headless"


def java_version() -> int | None:
    """The major version of the Java that Spark would start: that of JAVA_HOME, else the one on the PATH; None without."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if not java:
        return None
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


def java_hint() -> str | None:
    """What to run to get a Java for Spark; None where there is one."""
    found = java_version()
    if found is not None and found >= WANTED:
        return None
    have = f"Java {found} was found" if found else "no Java was found"
    return f"Spark's batches need Java {WANTED} or later, and {have}. Run: {COMMAND}"
