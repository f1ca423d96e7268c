"""The Java that Spark needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

JAVA_VERSION = 17
# Debian 12 has Java 17 under this name, Debian 13 has 21; neither has both.
INSTALL_JAVA = "sudo apt-get update && sudo apt-get install --yes default-jre-headless"


def java_version() -> int | None:
    """Return the major version of the Java that Spark would start, in JAVA_HOME or on the PATH; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if not java:
        return None
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


def java_hint() -> str | None:
    """Return the command that installs a Java for Spark; None if there is one."""
    found = java_version()
    if found is not None and found >= JAVA_VERSION:
        return None
    actual = f"Java {found} was found" if found else "no Java was found"
    return f"Spark's batches need Java {JAVA_VERSION} or later, and {actual}. Run: {INSTALL_JAVA}"
