"""What tests of several rooms share; the only place in tests that imports private names."""
