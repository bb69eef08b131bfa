"""Audits: real models, whose weights packages bring, examined, and what came of it as a page.

`audit(name)` returns one. `run_audit` makes and examines its models, `pack_audit` packs what came
of it, and `write_page` makes its page.
"""
