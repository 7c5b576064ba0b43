package words

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

const (
	allHours   = uint32(1<<24 - 1)
	allMinutes = uint64(1<<60 - 1)
	// maxTimes is the largest number of clock times that are listed if there is a shorter form.
	maxTimes = 6
	// maxListed is the largest number of items of a list. Longer lists are hard to read.
	maxListed = 24
	// minRun is the least number of clock times or numbers in equal distances that become a run.
	minRun = 4
)

// clock returns a time of day, with its second unless that is 0.
func clock(second int) string {
	text := fmt.Sprintf("%02d:%02d", second/3600, second/60%60)
	if second%60 != 0 {
		text += fmt.Sprintf(":%02d", second%60)
	}
	return text
}

// times returns the clock times of a day in words. listed reports whether they are a list of clock
// times, and not a repetition. exact is false if there are too many for a sentence; then it says
// their number.
func times(t engine.Times) (text string, listed, exact bool) {
	t = product(t)
	if t.List != nil {
		return list(t.List)
	}
	count := bits.OnesCount32(t.Hours) * bits.OnesCount64(t.Minutes) * bits.OnesCount64(t.Seconds)
	if count == 0 {
		return "", false, false
	}
	if count <= maxTimes {
		return list(t.All())
	}
	if text = repetition(t); text != "" {
		return text, false, true
	}
	if count <= 2*maxTimes {
		return "At " + clocks(t.All()), true, true
	}
	hours := unit("hour", uint64(t.Hours), uint64(allHours))
	if t.Hours == allHours && t.Minutes == allMinutes {
		return sentence(unit("second", t.Seconds, allMinutes) + " of every minute"), false, true
	}
	text = unit("minute", t.Minutes, allMinutes) + " of " + hours
	if t.Seconds != 1 {
		text = unit("second", t.Seconds, allMinutes) + " of " + text
	}
	return sentence(text), false, true
}

// product returns a list of clock times as hours, minutes and seconds if it has all combinations of
// them.
func product(t engine.Times) engine.Times {
	if t.List == nil {
		return t
	}
	var p engine.Times
	for _, s := range t.List {
		p.Hours |= 1 << (s / 3600)
		p.Minutes |= 1 << (s / 60 % 60)
		p.Seconds |= 1 << (s % 60)
	}
	if bits.OnesCount32(p.Hours)*bits.OnesCount64(p.Minutes)*bits.OnesCount64(p.Seconds) == len(t.List) {
		return p
	}
	return t
}

// list returns a list of clock times. Four and more in equal distances become a run.
func list(seconds []int32) (text string, listed, exact bool) {
	var single []int32
	var runs []string
	for i := 0; i < len(seconds); {
		n := 1
		for i+n+1 <= len(seconds) && (n == 1 || seconds[i+n]-seconds[i+n-1] == seconds[i+1]-seconds[i]) {
			n++
		}
		if n < minRun {
			single = append(single, seconds[i])
			i++
			continue
		}
		step := int64(seconds[i+1] - seconds[i])
		runs = append(runs, "every "+each(step)+" from "+clock(int(seconds[i]))+" to "+clock(int(seconds[i+n-1])))
		i += n
	}
	switch {
	case len(seconds) == 0:
		return "", false, false
	case len(single)+len(runs) > maxListed:
		first, last := clock(int(seconds[0])), clock(int(seconds[len(seconds)-1]))
		return fmt.Sprintf("At %d clock times from %s to %s (see the instants)", len(seconds), first, last), true, false
	case len(runs) == 1 && len(seconds) > minRun && seconds[len(seconds)-1]-seconds[0] == int32(60*(len(seconds)-1)) && len(single) == 0:
		return sentence(runs[0]), false, true // minute after minute
	case len(seconds) <= maxTimes || len(runs) == 0:
		return "At " + clocks(seconds), true, true
	case len(single) == 0:
		return sentence(Join(runs, "and")), len(runs) > 1, true
	}
	return "At " + clocks(single) + ", and " + Join(runs, "and"), true, true
}

func clocks(seconds []int32) string {
	var list []string
	for _, s := range seconds {
		list = append(list, clock(int(s)))
	}
	return Join(list, "and")
}

// sentence returns a list of units as the beginning of a sentence.
func sentence(text string) string {
	if rest, ok := strings.CutPrefix(text, "every "); ok {
		return "Every " + rest
	}
	return "At " + text
}

// unit returns the values of a mask: "every minute", "minute 5", "minutes 5 to 7 and 20", or "every
// 7th minute from 0 to 56".
func unit(name string, mask, all uint64) string {
	switch {
	case mask == all:
		return "every " + name
	case bits.OnesCount64(mask) == 1:
		return name + " " + numbers(mask)
	case bits.OnesCount64(mask) >= minRun && distance(mask) > 1:
		return fmt.Sprintf("every %s %s from %d to %d", ordinal(distance(mask)), name, bits.TrailingZeros64(mask), bits.Len64(mask)-1)
	}
	return name + "s " + numbers(mask)
}

// distance returns the distance of values that are equally far from each other; otherwise 0.
func distance(mask uint64) int {
	n := bits.OnesCount64(mask)
	first, last := bits.TrailingZeros64(mask), bits.Len64(mask)-1
	if n < 2 || (last-first)%(n-1) != 0 {
		return 0
	}
	k := (last - first) / (n - 1)
	for at := first; at <= last; at += k {
		if mask>>at&1 == 0 {
			return 0
		}
	}
	return k
}

// even returns the distance of minutes or seconds that repeat without a longer distance at the end
// of the hour or minute, such as 5, 20, 35, 50; otherwise 0.
func even(mask uint64) int {
	n := bits.OnesCount64(mask)
	if k := distance(mask); k > 0 && n*k == 60 {
		return k
	}
	return 0
}

// repetition returns times as a repetition in equal distances. It returns "" if they are none.
func repetition(t engine.Times) string {
	firstMinute, lastMinute := bits.TrailingZeros64(t.Minutes), bits.Len64(t.Minutes)-1
	firstSecond, lastSecond := bits.TrailingZeros64(t.Seconds), bits.Len64(t.Seconds)-1
	step, unit := 0, ""
	switch everyMinute := t.Minutes == allMinutes; {
	case everyMinute && even(t.Seconds) > 0:
		step, unit = even(t.Seconds), "second"
	case t.Seconds != 1:
		return ""
	case everyMinute:
		step, unit = 1, "minute"
	case even(t.Minutes) > 0:
		step, unit = even(t.Minutes), "minute"
	case bits.OnesCount64(t.Minutes) != 1:
		return ""
	case t.Hours == allHours:
		return fmt.Sprintf("Every hour at :%02d", firstMinute)
	default:
		return hourly(t.Hours, firstMinute)
	}
	text := "Every " + unit
	if step > 1 {
		text = fmt.Sprintf("Every %d %ss", step, unit)
	}
	if t.Hours == allHours && firstMinute == 0 && firstSecond == 0 {
		return text
	}
	var within []string
	for _, r := range Set(uint64(t.Hours)) {
		within = append(within, "from "+clock(r.From*3600+firstMinute*60+firstSecond)+" to "+clock(r.To*3600+lastMinute*60+lastSecond))
	}
	if len(within) > 3 {
		return ""
	}
	return text + " " + Join(within, "and")
}

// hourly returns one minute of some hours as a repetition. It returns "" if they are none.
func hourly(h uint32, minute int) string {
	ranges := Set(uint64(h))
	at := func(hour int) string { return clock(hour*3600 + minute*60) }
	if k := distance(uint64(h)); k > 1 && bits.OnesCount32(h) >= minRun {
		first, last := ranges[0].From, ranges[len(ranges)-1].To
		return fmt.Sprintf("Every %d hours from %s to %s", k, at(first), at(last))
	}
	var from, alone []string
	for _, r := range ranges {
		switch {
		case r.To-r.From >= minRun-1:
			from = append(from, "from "+at(r.From)+" to "+at(r.To))
		default:
			for hour := r.From; hour <= r.To; hour++ {
				alone = append(alone, at(hour))
			}
		}
	}
	switch {
	case len(from) == 0 || len(alone) > maxTimes:
		return ""
	case len(alone) == 0:
		return "Every hour " + Join(from, "and")
	}
	return "Every hour " + Join(from, "and") + ", and at " + Join(alone, "and")
}
