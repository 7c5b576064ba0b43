package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Units are the units of repeatInterval and of relative times, in seconds (D-S18).
var Units = []struct {
	Name    string
	seconds int64
}{
	{"years", 365 * civil.DaySeconds}, {"months", 30 * civil.DaySeconds}, {"weeks", 7 * civil.DaySeconds}, {"days", civil.DaySeconds},
	{"hours", 3600}, {"minutes", 60}, {"seconds", 1},
}

// parseUnit parses the plural or singular name of a unit.
func parseUnit(text string) (seconds int64, propose string) {
	names := make([]string, len(Units))
	for i, u := range Units {
		names[i] = u.Name
		if strings.EqualFold(u.Name, text) || strings.EqualFold(u.Name[:len(u.Name)-1], text) {
			return u.seconds, ""
		}
	}
	switch strings.ToLower(text) {
	case "min", "mins": // "m" may be a month
		return 0, "minutes"
	case "h", "hr", "hrs":
		return 0, "hours"
	case "s", "sec", "secs":
		return 0, "seconds"
	case "d":
		return 0, "days"
	case "w":
		return 0, "weeks"
	}
	if strings.ContainsAny(text, "0123456789") {
		return 0, "" // "0minutes" belongs to the number before it
	}
	return 0, suggest.Nearest(text, names)
}

// IntervalForms describes the accepted forms of an interval in messages.
const IntervalForms = "a whole number and a unit: years, months (of 30 days), weeks, days, hours, minutes, seconds"

// NumberWords is used for proposals only. A number word is not accepted as input: SAP does not
// accept it either.
var NumberWords = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
}

// MaxInterval is the longest interval in seconds: 400 years.
const MaxInterval = civil.CycleSeconds

// ParseInterval parses "<number> <unit>". propose is another spelling of the same interval, or
// empty.
func ParseInterval(text string) (seconds int64, propose string, ok bool) {
	fields := strings.Fields(text)
	if len(fields) == 1 { // "5minutes"
		if number := fields[0][:len(fields[0])-len(strings.TrimLeft(fields[0], "0123456789"))]; number != "" && number != fields[0] {
			fields = []string{number, fields[0][len(number):]}
			if _, near, valid := ParseInterval(strings.Join(fields, " ")); valid {
				return 0, strings.Join(fields, " "), false
			} else if near != "" {
				return 0, near, false
			}
		}
		return 0, "", false
	}
	if len(fields) != 2 {
		return 0, "", false
	}
	unit, nearUnit := parseUnit(fields[1])
	if unit > 0 {
		nearUnit = fields[1]
	}
	number := strings.TrimPrefix(fields[0], "+")
	if word, known := NumberWords[strings.ToLower(number)]; known {
		number = strconv.Itoa(word)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !IsDigits(number) || n < 1 {
		return 0, "", false
	}
	if unit > 0 && n > MaxInterval/unit {
		return 0, "", false
	}
	if unit > 0 && number == fields[0] {
		return n * unit, "", true
	}
	if nearUnit == "" {
		return 0, "", false
	}
	propose = fmt.Sprintf("%d %s", n, nearUnit)
	if _, _, valid := ParseInterval(propose); !valid {
		propose = ""
	}
	return 0, propose, false
}
