"""`python -m pinchbench`: the same as `pinchbench-async`."""

from pinchbench.cli import main

if __name__ == "__main__":
    main()
