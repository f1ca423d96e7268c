"""`python -m onefold.local.load_workload`, the former name of `onefold local load`."""

from onefold.local.former_name import run_instead

if __name__ == "__main__":
    run_instead("load")
