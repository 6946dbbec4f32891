"""Entry point of the guardian; see the package's docstring."""

from __future__ import annotations

import os
import sys

# Appended after the standard library, which is all that an isolated Python has on its path.
sys.path.append(os.path.abspath(f"{__file__}/../../../.."))  # noqa: PTH100 - pathlib is slow to import

from pinchbench.process.guardian.job_guard import main

if __name__ == "__main__":
    main()
