package schedule

import "math/bits"

// times are the clock times of a day at which a schedule is due: every hour with every minute with
// every second of three sets, or a list of its own.
type times struct {
	hours            uint32 // bit h: hour h
	minutes, seconds uint64 // bit m: minute m, bit s: second s
	// list, when not nil, replaces the sets: seconds of the day, ascending.
	list []int32
}

// next is the first second of the day that is not before from; false: none is left on this day.
func (t *times) next(from int) (int, bool) {
	if t.list != nil {
		for _, s := range t.list {
			if int(s) >= from {
				return int(s), true
			}
		}
		return 0, false
	}
	h, m, s := from/3600, from/60%60, from%60
	if t.hours>>h&1 == 1 {
		if t.minutes>>m&1 == 1 {
			if rest := t.seconds >> s; rest != 0 {
				return from + bits.TrailingZeros64(rest), true
			}
		}
		if rest := t.minutes >> (m + 1); rest != 0 {
			return h*3600 + (m+1+bits.TrailingZeros64(rest))*60 + bits.TrailingZeros64(t.seconds), t.seconds != 0
		}
	}
	rest := t.hours >> (h + 1)
	if rest == 0 || t.minutes == 0 || t.seconds == 0 {
		return 0, false
	}
	h += 1 + bits.TrailingZeros32(rest)
	return h*3600 + bits.TrailingZeros64(t.minutes)*60 + bits.TrailingZeros64(t.seconds), true
}

// perDay is how many clock times a day has.
func (t *times) perDay() int {
	if t.list != nil {
		return len(t.list)
	}
	return bits.OnesCount32(t.hours) * bits.OnesCount64(t.minutes) * bits.OnesCount64(t.seconds)
}

// all returns every clock time of the day in seconds, ascending.
func (t *times) all() []int32 {
	list := make([]int32, 0, t.perDay())
	for s, ok := t.next(0); ok; s, ok = t.next(s + 1) {
		list = append(list, int32(s))
		if s == daySeconds-1 {
			break
		}
	}
	return list
}

// before counts the clock times that are earlier than a second of the day.
func (t *times) before(second int) int {
	n := 0
	if t.list != nil {
		for _, s := range t.list {
			if int(s) < second {
				n++
			}
		}
		return n
	}
	h, m, s := second/3600, second/60%60, second%60
	perMinute := bits.OnesCount64(t.seconds)
	perHour := bits.OnesCount64(t.minutes) * perMinute
	n = bits.OnesCount32(t.hours&(1<<h-1)) * perHour
	if t.hours>>h&1 == 1 {
		n += bits.OnesCount64(t.minutes&(1<<m-1)) * perMinute
		if t.minutes>>m&1 == 1 {
			n += bits.OnesCount64(t.seconds & (1<<s - 1))
		}
	}
	return n
}
