package elastic

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/isoduration"
)

// timestamp is an instant in RFC 3339. Without a zone it is UTC.
type timestamp struct{ at time.Time }

// OpenAPISchema describes the instant in the OpenAPI document.
func (timestamp) OpenAPISchema() map[string]any {
	return map[string]any{"type": "string", "format": "date-time"}
}

// lifecycles and commandTypes describe members in the OpenAPI document.
type (
	lifecycles   struct{}
	commandTypes struct{}
)

// OpenAPISchema describes a lifecycle.
func (lifecycles) OpenAPISchema() map[string]any {
	return map[string]any{"type": "string", "enum": jobs.Lifecycles()}
}

// OpenAPISchema describes the type of the action of a step.
func (commandTypes) OpenAPISchema() map[string]any {
	return map[string]any{"type": "string", "enum": action.Types()}
}

// errTime is the error about a text that is not an instant.
var errTime = errors.New("want a time of the years 1 to 9999 in RFC 3339, such as 2030-01-31T12:00:00Z")

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *timestamp) UnmarshalText(text []byte) error {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"} {
		parsed, err := time.Parse(layout, string(text))
		if err != nil {
			continue
		}
		parsed = parsed.UTC()
		if y := parsed.Year(); y < 1 || y > 9999 {
			return errTime
		}
		t.at = parsed
		return nil
	}
	return errTime
}

// MarshalText implements encoding.TextMarshaler.
func (t timestamp) MarshalText() ([]byte, error) {
	return []byte(t.at.UTC().Format("2006-01-02T15:04:05.9999999Z07:00")), nil
}

// instant returns a time for an answer; zero is left out. The year 1 is a time that schedules have.
func instant(t time.Time) *timestamp {
	if t.IsZero() {
		return nil
	}
	return &timestamp{t}
}

// interval is the interval of a schedule, as the control database has it.
type interval struct {
	kind  string // Minutes, Hours, Days, Weeks or Months
	count int
}

// errDuration is the error about a text that is not a duration.
var errDuration = errors.New("want a duration of ISO 8601, such as PT15M, PT2H, P1D, P1W or P1M")

// errInterval is the error about a duration that is not an interval.
var errInterval = errors.New("want a positive duration of whole minutes, or of months and years alone")

// single is a duration of one unit, which keeps its unit.
var single = regexp.MustCompile(`^P(?:T0*([1-9][0-9]{0,9})([HM])|0*([1-9][0-9]{0,9})([DW]))$`)

// parseInterval reads an interval as a duration of ISO 8601. A mixed one is reduced to the largest
// unit that has no rest: P1DT2H is 26 hours.
func parseInterval(text string) (interval, error) {
	if m := single.FindStringSubmatch(strings.ToUpper(text)); m != nil {
		kinds := map[string]string{"M": "Minutes", "H": "Hours", "D": "Days", "W": "Weeks"}
		count, _ := strconv.ParseInt(m[1]+m[3], 10, 64) // at most ten digits
		return newInterval(kinds[m[2]+m[4]], count)
	}
	d, ok := isoduration.Parse(text)
	if !ok {
		return interval{}, errDuration
	}
	if months := 12*d.Years + d.Months; months > 0 {
		d.Years, d.Months = 0, 0
		if d != (isoduration.Duration{}) {
			return interval{}, errInterval
		}
		return newInterval("Months", months)
	}
	seconds := (7*d.Weeks+d.Days)*86400 + d.Hours*3600 + d.Minutes*60 + d.Seconds
	for _, unit := range []struct {
		kind    string
		seconds int64
	}{{"Weeks", 604800}, {"Days", 86400}, {"Hours", 3600}, {"Minutes", 60}} {
		if count := seconds / unit.seconds; d.Nanoseconds == 0 && count > 0 && seconds%unit.seconds == 0 {
			return newInterval(unit.kind, count)
		}
	}
	return interval{}, errInterval
}

// newInterval checks the count of an interval.
func newInterval(kind string, count int64) (interval, error) {
	if count > math.MaxInt32 {
		return interval{}, fmt.Errorf("want at most %d %s", math.MaxInt32, kind)
	}
	return interval{kind, int(count)}, nil
}

// formatInterval returns the duration of an interval; empty for Once.
func formatInterval(kind string, count int) string {
	switch kind {
	case "Minutes":
		return fmt.Sprintf("PT%dM", count)
	case "Hours":
		return fmt.Sprintf("PT%dH", count)
	case "Days":
		return fmt.Sprintf("P%dD", count)
	case "Weeks":
		return fmt.Sprintf("P%dW", count)
	case "Months":
		return fmt.Sprintf("P%dM", count)
	}
	return ""
}

// intOf returns an optional number as an int.
func intOf(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

// foldEqual compares values of enumerations, whose case does not matter.
func foldEqual(a, b string) bool { return strings.EqualFold(a, b) }
