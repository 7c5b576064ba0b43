package foreign

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// unitLine matches a setting of a unit file. A calendar event has no equals sign.
var unitLine = regexp.MustCompile(`^([A-Z][A-Za-z]+)\s*=\s*(.*)$`)

// isUnit reports whether a text is a unit file, or lines of one.
func isUnit(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != ';' {
			return line[0] == '[' || unitLine.MatchString(line)
		}
	}
	return false
}

// elapsedSettings are the settings of [Timer] that count from an event, with what they count from.
var elapsedSettings = map[string]string{
	"OnActiveSec": "the start of the timer", "OnBootSec": "the start of the machine", "OnStartupSec": "the start of systemd",
	"OnUnitActiveSec": "the last start of the unit", "OnUnitInactiveSec": "the last end of the unit",
}

// otherSettings are the settings of [Timer] without a meaning for the instants.
var otherSettings = []string{"Unit", "WakeSystem", "RemainAfterElapse", "FixedRandomDelay", "DeferReactivation"}

// timerSettings are the settings of [Timer] that are translated.
var timerSettings = []string{"OnCalendar", "Persistent", "RandomizedDelaySec", "AccuracySec"}

// readUnit translates the settings of a section [Timer] (systemd.timer(5)).
func (r *reader) readUnit() {
	var events []string
	jitter, catchUp := "", ""
	section := "Timer"
	text := strings.ReplaceAll(r.text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			if section = strings.TrimSuffix(name, "]"); section == "Timer" && catchUp == "" {
				catchUp = "none" // what was missed is not made up unless Persistent= is set
			}
			continue
		}
		if section != "Timer" {
			continue // [Unit] and [Install] say nothing about the instants
		}
		m := unitLine.FindStringSubmatch(line)
		if m == nil {
			r.fault("Timer", line, "lines such as OnCalendar=daily", "")
			continue
		}
		name, value := m[1], strings.TrimSpace(m[2])
		switch {
		case name == "OnCalendar" && value == "":
			events = nil // an empty setting resets the list
		case name == "OnCalendar":
			events = append(events, value)
		case name == "Persistent":
			if catchUp = "none"; r.boolean(name, value) {
				catchUp = "last"
			}
		case name == "RandomizedDelaySec":
			jitter = r.delay(name, value)
		case name == "AccuracySec":
			r.note("AccuracySec is not needed: a run starts at its due instant.")
		case elapsedSettings[name] != "":
			r.elapsedSetting(name, value)
		case name == "OnClockChange" || name == "OnTimezoneChange":
			r.fault(name, value, "no such setting: a schedule has no runs at changes of clocks", "")
		case !slices.Contains(otherSettings, name):
			known := slices.Concat(timerSettings, otherSettings)
			r.fault(name, value, "one of the settings "+strings.Join(known, ", "), suggest.Nearest(name, known))
		}
	}
	switch {
	case len(events) > 1:
		r.fault("OnCalendar", strings.Join(events, ", "), fmt.Sprintf("one OnCalendar= for each schedule; there are %d: add a schedule for each of them", len(events)), "")
	case len(events) == 0 && len(r.List) == 0:
		r.fault("OnCalendar", "", "a line such as OnCalendar=daily in the section [Timer]", "")
	case len(events) == 1:
		r.readCalendar(events[0])
	}
	r.target.catchUp = catchUp
	if jitter != "" {
		r.target.text("jitter", jitter)
		r.note("RandomizedDelaySec becomes a jitter: the delay of each run is computed from the schedule and the instant, not drawn at random.")
	}
}

// boolean parses a boolean of a unit file.
func (r *reader) boolean(name, value string) bool {
	switch strings.ToLower(value) {
	case "1", "yes", "y", "true", "t", "on":
		return true
	case "0", "no", "n", "false", "f", "off", "":
		return false
	}
	r.fault(name, value, "yes or no", suggest.Nearest(value, []string{"yes", "no", "true", "false"}))
	return false
}

// delay returns a time span as a length of time of this project; "" means none.
func (r *reader) delay(name, value string) string {
	seconds, ok := timeSpan(value)
	switch {
	case !ok:
		r.fault(name, value, "a time span of whole seconds such as 90, 15min or 1h 30min", "")
	case seconds > 0:
		return goDuration(seconds)
	}
	return ""
}

// goDuration returns a number of seconds in the shortest form such as 90s, 15m or 1h30m.
func goDuration(seconds int64) string {
	text := ""
	for _, u := range []struct {
		name    string
		seconds int64
	}{{"h", 3600}, {"m", 60}, {"s", 1}} {
		if n := seconds / u.seconds; n > 0 {
			text += strconv.FormatInt(n, 10) + u.name
		}
		seconds %= u.seconds
	}
	return text
}

// elapsedSetting refuses a setting that counts from an event, and names what to use.
func (r *reader) elapsedSetting(name, value string) {
	allowed, near := "OnCalendar=; "+name+" counts from "+elapsedSettings[name], ""
	seconds, ok := timeSpan(value)
	if name == "OnUnitActiveSec" && ok && seconds > 0 {
		allowed += ", as the interval of the kind sap does"
		near = `the kind sap: {"repeatInterval": ` + syntax.Quote(sapInterval(seconds)) + "}"
	} else {
		allowed += ", which is not an instant: start a job with jobagent job start"
	}
	r.fault(name, value, allowed, near)
}

// sapInterval returns a number of seconds as an interval of the kind sap.
func sapInterval(seconds int64) string {
	n, unit := seconds, "second"
	for _, u := range []struct {
		name    string
		seconds int64
	}{{"day", 86400}, {"hour", 3600}, {"minute", 60}} {
		if seconds%u.seconds == 0 {
			n, unit = seconds/u.seconds, u.name
			break
		}
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// spanUnits are the units of time spans (systemd.time(7)) in whole seconds.
var spanUnits = map[string]int64{
	"": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
	"h": 3600, "hr": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400, "w": 604800, "week": 604800, "weeks": 604800,
}

var spanPart = regexp.MustCompile(`^\s*([0-9]{1,9})\s*([A-Za-z]*)\s*`)

// timeSpan parses a time span of whole seconds. Months and years, whose lengths are averages, and
// fractions are not accepted.
func timeSpan(text string) (seconds int64, ok bool) {
	if strings.TrimSpace(text) == "" {
		return 0, true
	}
	for text != "" {
		m := spanPart.FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		unit, known := spanUnits[m[2]]
		n, err := strconv.ParseInt(m[1], 10, 64)
		if !known || err != nil || n*unit > math.MaxInt32-seconds {
			return 0, false
		}
		seconds += n * unit
		text = text[len(m[0]):]
	}
	return seconds, true
}
