package schedule

import "time"

// elapsed is a rule below the day: a grid of elapsed time (D-Z5), of which the instants count whose
// wall clock the BY parts leave.
type elapsed struct {
	grid grid
	zone *time.Location
	days *onDays // of which only the days count, at midnight

	hours            uint32
	minutes, seconds uint64
}

// filtered says whether the wall clock matters at all.
func (s *elapsed) filtered() bool {
	return s.days != nil || s.hours != 1<<24-1 || s.minutes != 1<<60-1 || s.seconds != 1<<60-1
}

// elapsedRule builds the schedule of an HOURLY, MINUTELY or SECONDLY rule.
func (p *parser) elapsedRule(v *value, r *rule, given map[string]bool, second int) Schedule {
	unit := map[frequency]int64{hourly: 3600, minutely: 60, secondly: 1}[r.freq]
	s := &elapsed{zone: p.zone, hours: 1<<24 - 1, minutes: 1<<60 - 1, seconds: 1<<60 - 1}
	s.grid = grid{base: p.start.Unix() - int64(second)%unit, step: unit * r.interval, from: p.start.Unix()}
	if given["BYMONTH"] || given["BYYEARDAY"] || given["BYMONTHDAY"] || given["BYDAY"] {
		s.days = &onDays{days: r.dayMask(), times: times{list: []int32{0}}}
	}
	if given["BYHOUR"] {
		s.hours = r.hours
	}
	within := times{hours: 1, minutes: 1, seconds: 1}
	if r.freq == hourly {
		if within.minutes = r.minutes; !given["BYMINUTE"] {
			within.minutes = 1 << (second / 60 % 60)
		}
	} else if given["BYMINUTE"] {
		s.minutes = r.minutes
	}
	if r.freq < secondly {
		if within.seconds = r.seconds; !given["BYSECOND"] {
			within.seconds = 1 << (second % 60)
		}
	} else if given["BYSECOND"] {
		s.seconds = r.seconds
	}
	list := within.all()
	if r.positions != nil {
		list = choose(list, r.positions)
	}
	for _, at := range list {
		s.grid.offsets = append(s.grid.offsets, int64(at))
	}
	if len(list) == 0 || !s.possible() {
		p.faults.add(v.path, v.raw, "a rule that some day fulfils; this one never does within 400 years", "")
		return nil
	}
	if !s.filtered() {
		return &s.grid
	}
	return s
}

// possible says whether any instant counts. Times of day that the grid never reaches are found without
// looking for them; zones are taken at the offsets of the first two years.
func (s *elapsed) possible() bool {
	start := s.grid.from
	if s.days != nil {
		if _, ok := s.days.next(floorDiv(start, daySeconds) * daySeconds); !ok {
			return false
		}
	}
	step := gcd(s.grid.step, daySeconds)
	for month := range int64(24) {
		offset := segmentAt(s.zone, start+month*30*daySeconds).offset
		for base := floorMod(s.grid.base+offset, step); base < daySeconds; base += step {
			for _, o := range s.grid.offsets {
				if at := floorMod(base+o, daySeconds); s.hours>>(at/3600)&1 == 1 && s.minutes>>(at/60%60)&1 == 1 && s.seconds>>(at%60)&1 == 1 {
					return true
				}
			}
		}
		if s.zone == time.UTC {
			break
		}
	}
	return false
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// maxProbes bounds a search among instants whose clock times the grid reaches, but hardly ever.
const maxProbes = 200_000

func (s *elapsed) Next(after time.Time) (time.Time, bool) {
	from := max(after.Unix()+1, s.grid.from)
	at := s.grid.nextUnix(from)
	var seg segment
	for range maxProbes {
		if at > from+cycleSeconds || at > LastInstant.Unix() {
			return time.Time{}, false
		}
		if at < seg.start || at >= seg.end {
			seg = segmentAt(s.zone, at)
		}
		next, ok := s.fulfilled(at + seg.offset)
		if !ok {
			return time.Time{}, false
		}
		if next == at+seg.offset {
			return instantAt(at)
		}
		// No clock in this segment shows a time that counts before next.
		at = s.grid.nextUnix(max(at+1, min(next-seg.offset, seg.end)))
	}
	return time.Time{}, false
}

// fulfilled is the first civil second not before at that may count: at itself when it does.
func (s *elapsed) fulfilled(at int64) (int64, bool) {
	if s.days != nil {
		midnight, ok := s.days.next(floorDiv(at, daySeconds) * daySeconds)
		if !ok {
			return 0, false
		}
		if midnight > at {
			return midnight, true
		}
	}
	day := floorDiv(at, daySeconds)
	clock := times{hours: s.hours, minutes: s.minutes, seconds: s.seconds}
	if second, ok := clock.next(int(at - day*daySeconds)); ok {
		return day*daySeconds + int64(second), true
	}
	return (day + 1) * daySeconds, true
}
