# A worker of the differential tests: croniter. See worker in reference_test.go. The second of a line
# with six fields is the last field there.
import sys
from datetime import datetime

from croniter import croniter

try:
    from importlib.metadata import version
    release = version("croniter")
except Exception:
    release = "of an unknown version"
print("ready", release, flush=True)
for line in sys.stdin:
    rule, start, n = line.rstrip("\n").split("\t")
    try:
        found = croniter(rule, datetime.strptime(start, "%Y%m%dT%H%M%S"))
        words = []
        for _ in range(int(n)):
            words.append("%04d%02d%02dT%02d%02d%02d" % found.get_next(datetime).timetuple()[:6])
        print(*words, flush=True)
    except Exception as failure:  # an answer, whatever it is
        print("!", type(failure).__name__, str(failure).replace("\n", " "), flush=True)
