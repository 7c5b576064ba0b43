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
	// maxListed is the largest number of clock times that are listed if there is none.
	maxListed = 48
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
// times, and not a repetition. The text is empty if the times cannot be described.
func times(t engine.Times) (text string, listed bool) {
	count := bits.OnesCount32(t.Hours) * bits.OnesCount64(t.Minutes) * bits.OnesCount64(t.Seconds)
	if t.List != nil {
		if count = len(t.List); count > maxListed {
			return "", false
		}
	}
	if count == 0 {
		return "", false
	}
	if t.List != nil || count <= maxTimes {
		var list []string
		for _, s := range t.All() {
			list = append(list, clock(int(s)))
		}
		return "At " + Join(list, "and"), true
	}
	if t.Seconds == 1 {
		if text = repetition(t.Hours, t.Minutes); text != "" {
			return text, false
		}
		return sentence(unit("minute", t.Minutes, allMinutes) + " of " + unit("hour", uint64(t.Hours), uint64(allHours))), false
	}
	seconds := unit("second", t.Seconds, allMinutes)
	switch everyMinute := t.Minutes == allMinutes && t.Hours == allHours; {
	case everyMinute && t.Seconds == allMinutes:
		return "Every second", false
	case everyMinute && step(t.Seconds) > 0:
		return fmt.Sprintf("Every %d seconds (second %d to %d)", step(t.Seconds), bits.TrailingZeros64(t.Seconds), bits.Len64(t.Seconds)-1), false
	case everyMinute:
		return sentence(seconds + " of every minute"), false
	}
	return sentence(seconds + " of " + unit("minute", t.Minutes, allMinutes) + " of " + unit("hour", uint64(t.Hours), uint64(allHours))), false
}

// sentence returns a list of units as the beginning of a sentence.
func sentence(text string) string {
	if rest, ok := strings.CutPrefix(text, "every "); ok {
		return "Every " + rest
	}
	return "At " + text
}

// unit returns the values of a mask: "every minute", "minute 5", "minutes 5 to 7 and 20".
func unit(name string, mask, all uint64) string {
	switch {
	case mask == all:
		return "every " + name
	case bits.OnesCount64(mask) == 1:
		return name + " " + numbers(mask, 1)
	}
	return name + "s " + numbers(mask, 1)
}

// repetition returns whole minutes as a repetition in equal distances. It returns "" if they are
// none.
func repetition(h uint32, m uint64) string {
	first, last, contiguous := span(h)
	firstMinute, lastMinute := bits.TrailingZeros64(m), bits.Len64(m)-1
	within := ""
	if h != allHours {
		within = fmt.Sprintf(" from %02d:%02d to %02d:%02d", first, firstMinute, last, lastMinute)
	}
	one, everyHour := bits.OnesCount64(m) == 1, h == allHours
	switch {
	case one && everyHour:
		return fmt.Sprintf("Every hour at :%02d", firstMinute)
	case one && contiguous:
		return "Every hour" + within
	case one && hourStep(h) > 0:
		return fmt.Sprintf("Every %d hours", hourStep(h)) + within
	case m == allMinutes && contiguous:
		return "Every minute" + within
	case step(m) > 0 && everyHour:
		return fmt.Sprintf("Every %d minutes (:%02d to :%02d)", step(m), firstMinute, lastMinute)
	case step(m) > 0 && contiguous:
		return fmt.Sprintf("Every %d minutes", step(m)) + within
	}
	return ""
}

// span returns the first and last hour, and whether all hours between them are set.
func span(h uint32) (first, last int, contiguous bool) {
	first, last = bits.TrailingZeros32(h), bits.Len32(h)-1
	return first, last, bits.OnesCount32(h) == last-first+1
}

// step returns the distance of minutes that repeat in every hour without a longer distance, such as
// 5, 20, 35, 50; otherwise 0.
func step(m uint64) int {
	n := bits.OnesCount64(m)
	if n < 2 || 60%n != 0 {
		return 0
	}
	first, k := bits.TrailingZeros64(m), 60/n
	if first >= k {
		return 0
	}
	for at := first; at < 60; at += k {
		if m>>at&1 == 0 {
			return 0
		}
	}
	return k
}

// hourStep returns the distance of hours that are equally far from each other; otherwise 0.
func hourStep(h uint32) int {
	first, last, _ := span(h)
	n := bits.OnesCount32(h)
	if n < 3 || (last-first)%(n-1) != 0 {
		return 0
	}
	k := (last - first) / (n - 1)
	for at := first; at <= last; at += k {
		if h>>at&1 == 0 {
			return 0
		}
	}
	return k
}
