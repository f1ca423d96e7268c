"""`python -m onefold.local.query`, the former name of `onefold local query`."""

from onefold.local.former_name import run_instead

if __name__ == "__main__":
    run_instead("query", "--allow-write")
