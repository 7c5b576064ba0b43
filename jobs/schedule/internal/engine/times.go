package engine

import (
	"math/bits"
	"slices"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Times holds the clock times of a day at which a schedule is due: all combinations of three sets
// of hours, minutes and seconds, or a list of seconds.
type Times struct {
	Hours            uint32 // bit h: hour h
	Minutes, Seconds uint64 // bit m: minute m, bit s: second s
	// List replaces the sets unless it is nil. It holds seconds of the day, ascending.
	List []int32
}

// Next returns the first second of the day at or after from. It returns false if none is left on
// the day.
func (t *Times) Next(from int) (int, bool) {
	if t.List != nil {
		i, _ := slices.BinarySearch(t.List, int32(from))
		if i == len(t.List) {
			return 0, false
		}
		return int(t.List[i]), true
	}
	h, m, s := from/3600, from/60%60, from%60
	if t.Hours>>h&1 == 1 {
		if t.Minutes>>m&1 == 1 {
			if rest := t.Seconds >> s; rest != 0 {
				return from + bits.TrailingZeros64(rest), true
			}
		}
		if rest := t.Minutes >> (m + 1); rest != 0 {
			return h*3600 + (m+1+bits.TrailingZeros64(rest))*60 + bits.TrailingZeros64(t.Seconds), t.Seconds != 0
		}
	}
	rest := t.Hours >> (h + 1)
	if rest == 0 || t.Minutes == 0 || t.Seconds == 0 {
		return 0, false
	}
	h += 1 + bits.TrailingZeros32(rest)
	return h*3600 + bits.TrailingZeros64(t.Minutes)*60 + bits.TrailingZeros64(t.Seconds), true
}

// perDay returns the number of clock times in a day.
func (t *Times) perDay() int {
	if t.List != nil {
		return len(t.List)
	}
	return bits.OnesCount32(t.Hours) * bits.OnesCount64(t.Minutes) * bits.OnesCount64(t.Seconds)
}

// All returns every clock time of the day in seconds, ascending.
func (t *Times) All() []int32 {
	list := make([]int32, 0, t.perDay())
	for s, ok := t.Next(0); ok; s, ok = t.Next(s + 1) {
		list = append(list, int32(s))
		if s == civil.DaySeconds-1 {
			break
		}
	}
	return list
}

// before returns the number of clock times earlier than a second of the day.
func (t *Times) before(second int) int {
	if t.List != nil {
		i, _ := slices.BinarySearch(t.List, int32(second))
		return i
	}
	h, m, s := second/3600, second/60%60, second%60
	perMinute := bits.OnesCount64(t.Seconds)
	perHour := bits.OnesCount64(t.Minutes) * perMinute
	n := bits.OnesCount32(t.Hours&(1<<h-1)) * perHour
	if t.Hours>>h&1 == 1 {
		n += bits.OnesCount64(t.Minutes&(1<<m-1)) * perMinute
		if t.Minutes>>m&1 == 1 {
			n += bits.OnesCount64(t.Seconds & (1<<s - 1))
		}
	}
	return n
}
