package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
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

// numbers returns the values of a mask: "0 to 5, 10 and 20". width is the least number of digits.
func numbers(mask uint64, width int) string {
	var out []string
	for _, r := range Set(mask) {
		from, to := fmt.Sprintf("%0*d", width, r.From), fmt.Sprintf("%0*d", width, r.To)
		switch r.To - r.From {
		case 0:
			out = append(out, from)
		case 1:
			out = append(out, from, to)
		default:
			out = append(out, from+" to "+to)
		}
	}
	return Join(out, "and")
}

// named returns names by the bits of a mask. Three and more in a row are a range.
func named(mask uint64, names []string, first int) string {
	var out []string
	for _, r := range Set(mask) {
		if r.To-r.From < 2 {
			for n := r.From; n <= r.To; n++ {
				out = append(out, names[n-first])
			}
			continue
		}
		out = append(out, names[r.From-first]+" to "+names[r.To-first])
	}
	return Join(out, "and")
}

// Instant returns an instant on the wall clock of a zone: "Thu 1 Jan 2026 06:00". Seconds are shown
// unless they are 0.
func Instant(at time.Time, zone *time.Location) string {
	layout := "Mon 2 Jan 2006 15:04"
	if at.Second() != 0 {
		layout += ":05"
	}
	return at.In(zone).Format(layout)
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
