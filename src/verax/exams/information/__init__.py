"""How much of the word is left in its hidden state?"""
