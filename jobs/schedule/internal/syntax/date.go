package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// DateTime is a date and clock time as written, with or without an offset.
type DateTime struct {
	Day    int64 // number of the date
	Second int   // of the day
	Offset int   // seconds east of UTC; only with hasOffset
	// HasOffset reports whether the text contains an offset, and therefore specifies an instant.
	HasOffset bool
	// HasTime reports whether the text contains a clock time. If not, the time is midnight (D-S9).
	HasTime bool
	// Fraction reports whether the text contains a fraction of a second other than 0.
	Fraction bool
}

// In returns the instant of m. Without an offset, m is a wall clock of the zone with the default
// rules for gap and overlap. The location of the result is the offset of m, or else the zone.
func (m DateTime) In(zone *time.Location) time.Time {
	civilSecond := m.Day*civil.DaySeconds + int64(m.Second)
	if m.HasOffset {
		return time.Unix(civilSecond-int64(m.Offset), 0).In(FixedZone(m.Offset))
	}
	at, ok := engine.Resolve(civilSecond, zone, engine.GapShift, engine.OverlapFirst)
	if !ok {
		at = time.Unix(civilSecond, 0) // after LastInstant, where nothing is due
	}
	return at.In(zone)
}

// FixedZone returns the zone of an offset. For the offset 0 it returns time.UTC itself, because
// callers compare the zone by address.
func FixedZone(offset int) *time.Location {
	if offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", offset)
}

// DateForms describes the accepted forms of a date in faults.
const DateForms = "an ISO 8601 date (2026-01-31, 2026-W05-6, 2026-031) with or without time and offset (2026-01-31T08:00:00+01:00), or one of RFC 2822 (Sat, 31 Jan 2026 08:00:00 +0100)"

// ParseDate parses ISO 8601 or RFC 2822.
func ParseDate(text string) (DateTime, error) {
	text = strings.TrimSpace(text)
	m, err := parseISO(text)
	if err == nil {
		return m, nil
	}
	if m, err := parseMail(text); err == nil {
		return m, nil
	}
	return DateTime{}, err
}

// parseISO parses a calendar, week or ordinal date, extended or basic. A T or a space may separate
// it from a time: hour, hour and minute, or both with seconds and a fraction (which is truncated).
// An offset may follow.
func parseISO(text string) (DateTime, error) {
	datePart, timePart, separated := cutAny(text, "Tt ")
	day, err := ParseISODay(datePart)
	if err != nil {
		return DateTime{}, err
	}
	m := DateTime{Day: day}
	if !separated {
		return m, nil
	}
	clockPart := timePart
	if i := strings.IndexAny(timePart, "Zz+-"); i >= 0 {
		clockPart = strings.TrimSuffix(timePart[:i], " ")
		if m.Offset, err = ParseOffset(timePart[i:]); err != nil {
			return DateTime{}, err
		}
		m.HasOffset = true
	}
	m.HasTime = true
	m.Second, err = parseISOTime(clockPart)
	_, fraction, _ := cutAny(clockPart, ".,")
	m.Fraction = strings.Trim(fraction, "0") != ""
	return m, err
}

// cutAny returns the text before and after the first of some characters.
func cutAny(s, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// ParseISODay parses an ISO 8601 date (calendar, week or ordinal date) and returns its day number.
func ParseISODay(s string) (int64, error) {
	digits := strings.ReplaceAll(s, "-", "")
	extended := len(s) != len(digits)
	shape := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '9'
		}
		return r
	}, s)
	number := func(from, to int) int {
		n, _ := strconv.Atoi(digits[from:to])
		return n
	}
	switch shape {
	case "9999-99-99", "99999999":
		return CalendarDay(number(0, 4), number(4, 6), number(6, 8))
	case "9999-W99-9", "9999W999":
		return ISOWeekDay(number(0, 4), number(5, 7), number(7, 8))
	case "9999-999", "9999999":
		return OrdinalDay(number(0, 4), number(4, 7))
	}
	if extended {
		return 0, fmt.Errorf("invalid date %q", s)
	}
	return 0, fmt.Errorf("invalid date %q: want ISO 8601", s)
}

// CalendarDay returns the day number of a year, month and day, or an error if there is no such
// date.
func CalendarDay(year, month, day int) (int64, error) {
	if year < 1 || month < 1 || month > 12 || day < 1 || day > civil.MonthLength(year, time.Month(month)) {
		return 0, fmt.Errorf("there is no %04d-%02d-%02d", year, month, day)
	}
	return civil.DayNumber(year, time.Month(month), day), nil
}

// ISOWeekDay returns the day number of a day of an ISO week. Week 1 contains 4 January, and day 1
// is Monday.
func ISOWeekDay(year, week, day int) (int64, error) {
	first := ISOYearStart(year)
	weeks := int((ISOYearStart(year+1) - first) / 7)
	if year < 1 || week < 1 || week > weeks || day < 1 || day > 7 {
		return 0, fmt.Errorf("there is no %04d-W%02d-%d", year, week, day)
	}
	return first + int64(week-1)*7 + int64(day-1), nil
}

// ISOYearStart returns the day number of the Monday of an ISO year's first week.
func ISOYearStart(year int) int64 {
	fourth := civil.DayNumber(year, time.January, 4)
	return fourth - int64(civil.Weekday(fourth))
}

// OrdinalDay returns the day number of the n-th day of a year.
func OrdinalDay(year, day int) (int64, error) {
	length := 365
	if civil.IsLeap(year) {
		length = 366
	}
	if year < 1 || day < 1 || day > length {
		return 0, fmt.Errorf("there is no %04d-%03d", year, day)
	}
	return civil.DayNumber(year, time.January, 1) + int64(day-1), nil
}

func parseISOTime(s string) (int, error) {
	whole, fraction, hasFraction := cutAny(s, ".,")
	if hasFraction && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		return 0, fmt.Errorf("invalid time %q", s)
	}
	digits := strings.ReplaceAll(whole, ":", "")
	if strings.Trim(digits, "0123456789") != "" || len(whole) != len(digits) && len(whole) != len(digits)*3/2-1 ||
		len(digits) != 2 && len(digits) != 4 && len(digits) != 6 || hasFraction && len(digits) != 6 {
		return 0, fmt.Errorf("invalid time %q", s)
	}
	clock := [3]int{}
	for i := 0; i < len(digits); i += 2 {
		clock[i/2], _ = strconv.Atoi(digits[i : i+2])
		if len(whole) != len(digits) && i > 0 && whole[i/2*3-1] != ':' {
			return 0, fmt.Errorf("invalid time %q", s)
		}
	}
	if clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return 0, fmt.Errorf("invalid time %q: want hours up to 23, minutes and seconds up to 59", s)
	}
	return clock[0]*3600 + clock[1]*60 + clock[2], nil
}

// ParseOffset parses Z, ±HH, ±HHmm or ±HH:mm and returns seconds.
func ParseOffset(s string) (int, error) {
	if s == "Z" || s == "z" {
		return 0, nil
	}
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, fmt.Errorf("invalid offset %q", s)
	}
	seconds, err := parseISOTime(s[1:])
	if err != nil || seconds%60 != 0 || len(s) > 6 || seconds > 18*3600 {
		return 0, fmt.Errorf("invalid offset %q", s)
	}
	if s[0] == '-' {
		return -seconds, nil
	}
	return seconds, nil
}

// mailZones holds the zone names of RFC 2822, section 4.3. They are offsets in that format only.
var mailZones = map[string]int{
	"UT": 0, "GMT": 0, "UTC": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}

// parseMail parses RFC 2822: [weekday,] day month year hour:minute[:second] [offset].
func parseMail(text string) (DateTime, error) {
	bad := fmt.Errorf("invalid date %q: want RFC 2822", text)
	fields := strings.Fields(strings.Replace(text, ",", ", ", 1))
	named := ""
	if len(fields) > 0 && strings.HasSuffix(fields[0], ",") {
		named, fields = strings.TrimSuffix(fields[0], ","), fields[1:]
	}
	if len(fields) < 3 || len(fields) > 5 || len(fields[0]) > 2 || len(fields[1]) != 3 || len(fields[2]) != 4 {
		return DateTime{}, bad
	}
	day, dayErr := strconv.Atoi(fields[0])
	year, yearErr := strconv.Atoi(fields[2])
	month := 0
	for i, name := range civil.MonthNames {
		if strings.EqualFold(name[:3], fields[1]) {
			month = i + 1
		}
	}
	if dayErr != nil || yearErr != nil || month == 0 {
		return DateTime{}, bad
	}
	m := DateTime{}
	var err error
	if m.Day, err = CalendarDay(year, month, day); err != nil {
		return DateTime{}, err
	}
	if named != "" && !strings.EqualFold(named, civil.WeekdayNames[civil.Weekday(m.Day)][:3]) {
		return DateTime{}, fmt.Errorf("invalid date %q: that day is a %s", text, civil.WeekdayNames[civil.Weekday(m.Day)])
	}
	if len(fields) > 3 {
		if m.Second, err = parseISOTime(fields[3]); err != nil || !strings.Contains(fields[3], ":") {
			return DateTime{}, bad
		}
		m.HasTime = true
	}
	if len(fields) > 4 {
		hours, known := mailZones[strings.ToUpper(fields[4])]
		m.Offset, m.HasOffset = hours*3600, true
		if !known {
			if m.Offset, err = ParseOffset(fields[4]); err != nil {
				return DateTime{}, bad
			}
		}
	}
	return m, nil
}

// isoDate is a date, and perhaps a time, with too few digits or with other separators.
var isoDate = regexp.MustCompile(`^([0-9]{4})([-/.])([0-9]{1,2})([-/.])([0-9]{1,2})(?:[T ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(.*))?$`)

// DateProposal returns another spelling of the same date: with all digits, and with hyphens. It
// returns "" if the date does not exist or if the order of its parts is not certain.
func DateProposal(text string) string {
	m := isoDate.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[2] != m[4] {
		return ""
	}
	padded := func(text string) string { return fmt.Sprintf("%02s", text) }
	try := m[1] + "-" + padded(m[3]) + "-" + padded(m[5])
	if m[6] != "" {
		try += "T" + padded(m[6]) + ":" + padded(m[7]) + ":" + padded(m[8]) + strings.TrimSpace(m[9])
	}
	if _, err := ParseDate(try); err != nil || try == text {
		return ""
	}
	return try
}
