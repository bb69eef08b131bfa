"""What draws in a child process: a line of JSON in, a line of JSON out, until there are no more.

It is run as a file and imports nothing of Verax, so that it starts fast and takes little memory.
"""

from __future__ import annotations

import base64
import json
import sys


def main() -> None:
    """Answer requests of `verax.drawing.apart.Renderer`."""
    import vl_convert

    for line in sys.stdin:
        function, given, named = json.loads(line)
        try:
            made = getattr(vl_convert, function)(*given, **named)
            if isinstance(made, bytes):
                made = base64.b64encode(made).decode()
            answer = {"made": made}
        except ValueError as error:
            answer = {"error": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
