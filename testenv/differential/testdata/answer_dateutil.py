# A worker of the differential tests: dateutil.rrule. See worker in reference_test.go.
import sys
from datetime import datetime

import dateutil
from dateutil.rrule import rrulestr

print("ready", dateutil.__version__, flush=True)
for line in sys.stdin:
    rule, start, n = line.rstrip("\n").split("\t")
    try:
        words = []
        found = iter(rrulestr(rule, dtstart=datetime.strptime(start, "%Y%m%dT%H%M%S")))
        for _ in range(int(n)):
            at = next(found, None)
            if at is None:
                words.append("end")
                break
            words.append("%04d%02d%02dT%02d%02d%02d" % at.timetuple()[:6])
        print(*words, flush=True)
    except Exception as failure:  # an answer, whatever it is
        print("!", type(failure).__name__, str(failure).replace("\n", " "), flush=True)
