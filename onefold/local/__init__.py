"""The former names of `onefold local`, for one release."""
