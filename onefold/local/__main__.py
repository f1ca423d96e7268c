"""`python -m onefold.local`, the former name of `onefold local start`."""

from onefold.local.former_name import run_instead

if __name__ == "__main__":
    run_instead("start")
