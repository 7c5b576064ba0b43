package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// WithNext returns the description's text with the next due instant behind it, as of now:
// "At 02:00 every day, Europe/Berlin; next: Mon 7 Dec 2026 02:00 (in 15 days)". A zero instant
// means that nothing is due any more. An empty text stays empty.
func (d Description) WithNext(next time.Time, zone *time.Location, now time.Time) string {
	if d.Text == "" {
		return ""
	}
	return NextBehind(d.Text, next, zone, now)
}

// NextBehind returns a text, which names the zone, with the next due instant behind it; see
// [Description.WithNext].
func NextBehind(text string, next time.Time, zone *time.Location, now time.Time) string {
	if next.IsZero() {
		return text + "; never again"
	}
	if begin, first := strings.CutSuffix(text, "; from "+words.Instant(next, zone)); first {
		text = begin // what is next is the first instant
	}
	return text + "; next: " + LocalTime(next, zone) + " (" + Distance(next.Sub(now)) + ")"
}

// LocalTime returns an instant on the wall clock of a zone: "Mon 7 Dec 2026 02:00". A clock time
// that occurs twice, because clocks go back, has its offset behind it.
func LocalTime(at time.Time, zone *time.Location) string { return words.Instant(at, zone) }

// Distance returns the time to an instant in words: "in 15 days", "in 3 h", "40 s ago". It is
// rounded to a whole unit: seconds below 100 s, minutes below 100 min, hours below 48 h, else days.
func Distance(d time.Duration) string {
	amount := ""
	switch n := d.Abs(); {
	case n < time.Second/2, d < 0 && n < time.Second: // instants are whole seconds
		return "now"
	case n < 99500*time.Millisecond:
		amount = fmt.Sprintf("%d s", n.Round(time.Second)/time.Second)
	case n < 100*time.Minute-30*time.Second:
		amount = fmt.Sprintf("%d min", n.Round(time.Minute)/time.Minute)
	case n < 48*time.Hour-30*time.Minute:
		amount = fmt.Sprintf("%d h", n.Round(time.Hour)/time.Hour)
	default:
		const day = 24 * time.Hour
		amount = fmt.Sprintf("%d days", n.Round(day)/day)
	}
	if d < 0 {
		return amount + " ago"
	}
	return "in " + amount
}

// ZoneShown returns the zone in which the times of a stored schedule are shown: that of an IANA
// name, or of an offset such as -08:00. An empty or unknown name gives UTC.
func ZoneShown(name string) *time.Location {
	if zone, err := LoadZone(name); err == nil {
		return zone
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone("UTC"+name, offset)
	}
	return time.UTC
}
