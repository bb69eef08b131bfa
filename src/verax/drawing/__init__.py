"""How tables become pictures: names, colours and scales, forms, SVG and files. It knows no exam.

`altair` takes a while to load: `series`, `forms` and `placing` import it, and are themselves
imported only where something is drawn.
"""
