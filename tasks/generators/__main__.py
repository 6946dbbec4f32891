"""Writes the suite's fixtures, the same on every run: `python3 tasks/generators [FOLDER]`, by default into `tasks/assets`.

Every other module here makes the files of one folder of `assets/`: its `files()` maps paths below `assets/` to bytes.
`openpyxl`, `reportlab` and git are needed, which the development packages and the system bring.
"""

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(folder: Path) -> None:
    for name in sorted(path.stem for path in HERE.glob("[a-z]*.py")):
        for place, data in import_module(name).files().items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            # Bytes, because text mode would write other line ends on some systems.
            path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "assets")
