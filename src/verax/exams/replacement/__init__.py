"""Does the decision change when attention is made uniform, or permuted?"""
