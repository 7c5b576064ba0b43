package rrule

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// elapsed is a rule below the day: the instants of a grid of elapsed time (D-Z5) whose wall clock
// matches the BY parts.
type elapsed struct {
	grid engine.Grid
	zone *time.Location
	days *engine.OnDays // of which only the days count, at midnight

	hours            uint32
	minutes, seconds uint64
}

// filtered reports whether the BY parts filter instants by the wall clock.
func (s *elapsed) filtered() bool {
	return s.days != nil || s.hours != 1<<24-1 || s.minutes != 1<<60-1 || s.seconds != 1<<60-1
}

// buildElapsed builds the schedule of an HOURLY, MINUTELY or SECONDLY rule.
func buildElapsed(p *syntax.Parser, v *syntax.Value, r *rule, given map[string]bool, second int) engine.Schedule {
	unit := map[frequency]int64{hourly: 3600, minutely: 60, secondly: 1}[r.freq]
	s := &elapsed{zone: p.Zone, hours: 1<<24 - 1, minutes: 1<<60 - 1, seconds: 1<<60 - 1}
	s.grid = engine.Grid{Base: p.Start.Unix() - int64(second)%unit, Step: unit * r.interval, From: p.Start.Unix()}
	if given["BYMONTH"] || given["BYYEARDAY"] || given["BYMONTHDAY"] || given["BYDAY"] {
		s.days = &engine.OnDays{Days: r.dayMask(), Times: engine.Times{List: []int32{0}}}
	}
	if given["BYHOUR"] {
		s.hours = r.hours
	}
	within := engine.Times{Hours: 1, Minutes: 1, Seconds: 1}
	if r.freq == hourly {
		if within.Minutes = r.minutes; !given["BYMINUTE"] {
			within.Minutes = 1 << (second / 60 % 60)
		}
	} else if given["BYMINUTE"] {
		s.minutes = r.minutes
	}
	if r.freq < secondly {
		if within.Seconds = r.seconds; !given["BYSECOND"] {
			within.Seconds = 1 << (second % 60)
		}
	} else if given["BYSECOND"] {
		s.seconds = r.seconds
	}
	list := within.All()
	if r.positions != nil {
		list = choose(list, r.positions)
	}
	for _, at := range list {
		s.grid.Offsets = append(s.grid.Offsets, int64(at))
	}
	if len(list) == 0 || !s.possible() {
		p.Faults.Add(v.Path, v.Raw, "a rule that matches some day; this one matches none within 400 years", "")
		return nil
	}
	p.Words = &words.Rule{Grid: &s.grid, Hours: s.hours, Minutes: s.minutes, Seconds: s.seconds}
	if s.days != nil {
		p.Words.Days = r.wordsOfDays()
	}
	if !s.filtered() {
		return &s.grid
	}
	return s
}

// possible reports whether any instant matches. It detects times of day that the grid never reaches
// without a search. It uses the offsets of the zone in the first two years.
func (s *elapsed) possible() bool {
	start := s.grid.From
	if s.days != nil {
		if _, ok := s.days.Next(civil.FloorDiv(start, civil.DaySeconds) * civil.DaySeconds); !ok {
			return false
		}
	}
	step := gcd(s.grid.Step, civil.DaySeconds)
	for month := range int64(24) {
		offset := engine.SegmentAt(s.zone, start+month*30*civil.DaySeconds).Offset
		for base := civil.FloorMod(s.grid.Base+offset, step); base < civil.DaySeconds; base += step {
			for _, o := range s.grid.Offsets {
				if at := civil.FloorMod(base+o, civil.DaySeconds); s.hours>>(at/3600)&1 == 1 && s.minutes>>(at/60%60)&1 == 1 && s.seconds>>(at%60)&1 == 1 {
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

// maxProbes limits a search for clock times that the grid reaches very rarely.
const maxProbes = 200_000

// Next implements engine.Schedule.
func (s *elapsed) Next(after time.Time) (time.Time, bool) {
	from := max(after.Unix()+1, s.grid.From)
	at := s.grid.NextUnix(from)
	var seg engine.Segment
	for range maxProbes {
		if at > from+civil.CycleSeconds || at > engine.LastInstant.Unix() {
			return time.Time{}, false
		}
		if at < seg.Start || at >= seg.End {
			seg = engine.SegmentAt(s.zone, at)
		}
		next, ok := s.fulfilled(at + seg.Offset)
		if !ok {
			return time.Time{}, false
		}
		if next == at+seg.Offset {
			return engine.InstantAt(at)
		}
		// No clock time in this segment matches before next.
		at = s.grid.NextUnix(max(at+1, min(next-seg.Offset, seg.End)))
	}
	return time.Time{}, false
}

// fulfilled returns the first civil second at or after at that may match. It returns at itself if
// at matches.
func (s *elapsed) fulfilled(at int64) (int64, bool) {
	if s.days != nil {
		midnight, ok := s.days.Next(civil.FloorDiv(at, civil.DaySeconds) * civil.DaySeconds)
		if !ok {
			return 0, false
		}
		if midnight > at {
			return midnight, true
		}
	}
	day := civil.FloorDiv(at, civil.DaySeconds)
	clock := engine.Times{Hours: s.hours, Minutes: s.minutes, Seconds: s.seconds}
	if second, ok := clock.Next(int(at - day*civil.DaySeconds)); ok {
		return day*civil.DaySeconds + int64(second), true
	}
	return (day + 1) * civil.DaySeconds, true
}
