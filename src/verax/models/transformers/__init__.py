"""Models of Hugging Face: loading them, hooks into their attention, and checks of both."""
