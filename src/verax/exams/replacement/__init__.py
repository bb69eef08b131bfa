"""Does the model notice if its attention is made uniform, or permuted?"""
