package words

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// Join joins items with commas, and the last one with a word: "1, 2 and 3".
func Join(items []string, word string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " " + word + " " + items[last]
}

// ordinal returns 1st, 2nd, 3rd and so on.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

var smallOrdinals = []string{"", "first", "second", "third", "fourth", "fifth"}

// nth returns "first" to "fifth", "20th", "last" or "second-to-last".
func nth(n int) string {
	switch {
	case n == -1:
		return "last"
	case n < 0:
		return nth(-n) + "-to-last"
	case n < len(smallOrdinals):
		return smallOrdinals[n]
	}
	return ordinal(n)
}

// day returns the name of a day of a month or year: "the 15th", "the last day".
func day(n int) string {
	switch {
	case n == -1:
		return "the last day"
	case n < 0:
		return "the " + ordinal(-n) + "-to-last day"
	}
	return "the " + ordinal(n)
}

// days returns the names of days and ranges of days.
func days(list []Range) []string {
	var out []string
	for _, r := range list {
		switch {
		case r.From == r.To:
			out = append(out, day(r.From))
		case r.Step > 1:
			out = append(out, "every "+ordinal(r.Step)+" day from "+day(r.From)+" to "+day(r.To))
		case r.To == r.From+1:
			out = append(out, day(r.From), day(r.To))
		default:
			out = append(out, day(r.From)+" to "+day(r.To))
		}
	}
	return out
}

// stepped returns the values of a mask as one range with a step if they are equally far from each
// other, and otherwise as ranges.
func stepped(mask uint64) []Range {
	if k := distance(mask); k > 1 && bits.OnesCount64(mask) >= minRun {
		return []Range{{From: bits.TrailingZeros64(mask), To: bits.Len64(mask) - 1, Step: k}}
	}
	return Set(mask)
}

// numbers returns the values of a mask: "0 to 5, 10 and 20".
func numbers(mask uint64) string {
	var out []string
	for _, r := range Set(mask) {
		switch r.To - r.From {
		case 0:
			out = append(out, strconv.Itoa(r.From))
		case 1:
			out = append(out, strconv.Itoa(r.From), strconv.Itoa(r.To))
		default:
			out = append(out, fmt.Sprintf("%d to %d", r.From, r.To))
		}
	}
	return Join(out, "and")
}

// named returns names by the bits of a mask, of which bit 0 is the first name. Three and more in a
// row are a range, also beyond the last name: "November to February".
func named(mask uint64, names []string) (list []string, ranges bool) {
	n := len(names)
	begin := 0
	if wraps := bits.TrailingZeros64(^mask) + n - bits.Len64(^mask&(1<<n-1)); mask&1 == 1 && mask>>(n-1)&1 == 1 && wraps > 2 && wraps < n {
		begin = bits.Len64(^mask & (1<<n - 1)) // behind the last one that is absent
	}
	set := func(i int) bool { return mask>>((begin+i)%n)&1 == 1 }
	for i := 0; i < n; i++ {
		if !set(i) {
			continue
		}
		last := i
		for last+1 < n && set(last+1) {
			last++
		}
		if last-i >= 2 {
			list = append(list, names[(begin+i)%n]+" to "+names[(begin+last)%n])
			ranges = true
			i = last
			continue
		}
		list = append(list, names[(begin+i)%n])
	}
	return list, ranges
}

// Instant returns an instant on the wall clock of a zone: "Thu 1 Jan 2026 06:00". Seconds are shown
// unless they are 0. A clock time that occurs twice, because clocks go back, has its offset behind
// it.
func Instant(at time.Time, zone *time.Location) string {
	layout := "Mon 2 Jan 2006 15:04"
	if at.Second() != 0 {
		layout += ":05"
	}
	if unix := at.Unix(); engine.SegmentAt(zone, unix).Repeats(unix) {
		layout += " -07:00"
	}
	return at.In(zone).Format(layout)
}

// instants returns instants joined by "and". exact is false if there are too many; then it says
// their number.
func instants(list []time.Time, zone *time.Location) (text string, exact bool) {
	if len(list) > maxListed {
		return fmt.Sprintf("%d instants from %s to %s (see the instants)", len(list), Instant(list[0], zone), Instant(list[len(list)-1], zone)), false
	}
	var out []string
	for _, at := range list {
		out = append(out, Instant(at, zone))
	}
	return Join(out, "and"), true
}

// date returns a day: "Thu 1 Jan 2026".
func date(d civil.Date) string {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Format("Mon 2 Jan 2006")
}

// Zone returns the name of a zone, or UTC with its offset.
func Zone(zone *time.Location, at time.Time) string {
	if name := zone.String(); name != "" && name != "Local" {
		return name
	}
	if _, offset := at.In(zone).Zone(); offset == 0 {
		return "UTC"
	}
	return "UTC" + at.In(zone).Format("-07:00")
}
