"""shuffle.py EXPORT TO: writes the export with the records of each type in a random order."""
import random
import re
import sys

random.seed(1)
run, kind = [], None
with open(sys.argv[1]) as export, open(sys.argv[2], "w") as to:

    def flush():
        random.shuffle(run)
        to.writelines(run)
        run.clear()

    for line in export:
        found = re.match(r' <Record type="(\w+)"', line)
        if found:
            if found[1] != kind:
                flush()
            kind = found[1]
            run.append(line)
        elif run and re.match("  | </Record>", line):
            run[-1] += line
        else:
            flush()
            kind = None
            to.write(line)
    flush()
