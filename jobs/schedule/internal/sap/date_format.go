package sap

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// formatTokens lists the tokens of a date object's format.
const formatTokens = "YYYY YY Q M MM MMM MMMM D DD Do DDD DDDD X x gggg gg w ww e GGGG GG W WW E H HH h hh a A m mm s ss S SS SSS Z ZZ"

// formatToken is one token of a format, or a literal text.
type formatToken struct {
	name    string // empty: literal
	literal string
}

// knownTokens holds the tokens, longest first, so that DDDD is not parsed as DDD and D.
var knownTokens = func() []string {
	var sorted []string
	for length := 4; length > 0; length-- {
		for name := range strings.FieldsSeq(formatTokens) {
			if len(name) == length {
				sorted = append(sorted, name)
			}
		}
	}
	return sorted
}()

// splitFormat splits a format into tokens. unknown is the first letter that is not a token, except
// the literal T between date and time. A text in brackets is literal.
func splitFormat(format string) (tokens []formatToken, unknown string) {
	for format != "" {
		if strings.HasPrefix(format, "[") {
			if end := strings.IndexByte(format, ']'); end > 0 {
				tokens = append(tokens, formatToken{literal: format[1:end]})
				format = format[end+1:]
				continue
			}
		}
		name := ""
		for _, known := range knownTokens {
			if strings.HasPrefix(format, known) {
				name = known
				break
			}
		}
		if name != "" {
			tokens = append(tokens, formatToken{name: name})
			format = format[len(name):]
			continue
		}
		letter := format[0]
		if letter != 'T' && (letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z') {
			return nil, string(letter)
		}
		tokens = append(tokens, formatToken{literal: format[:1]})
		format = format[1:]
	}
	return tokens, ""
}

// formatted holds the parts of a date that a text contains; -1 means absent.
type formatted struct {
	year, quarter, month, day, dayOfYear int
	isoYear, isoWeek, isoDay             int
	localYear, localWeek, localDay       int
	hour, hour12, minute, second         int
	half                                 int // 0 am, 12 pm
	offset                               int
	hasOffset                            bool
	unix                                 *time.Time
}

// parseFormatted parses a text by the tokens of its format. A missing part that is larger than all
// given parts (the year of "DD.MM.") is taken from now. Any other missing part gets its smallest
// value.
func parseFormatted(text string, tokens []formatToken, now time.Time) (syntax.DateTime, error) {
	const absent = -1
	f := formatted{
		year: absent, quarter: absent, month: absent, day: absent, dayOfYear: absent,
		isoYear: absent, isoWeek: absent, isoDay: absent,
		localYear: absent, localWeek: absent, localDay: absent,
		hour: absent, hour12: absent, minute: absent, second: absent, half: absent,
	}
	rest := text
	for _, t := range tokens {
		if t.name == "" {
			after, ok := strings.CutPrefix(rest, t.literal)
			if !ok {
				return syntax.DateTime{}, fmt.Errorf("want %q at %q", t.literal, rest)
			}
			rest = after
			continue
		}
		n, err := f.take(t.name, rest)
		if err != nil {
			return syntax.DateTime{}, err
		}
		rest = rest[n:]
	}
	if rest != "" {
		return syntax.DateTime{}, fmt.Errorf("%q follows the date", rest)
	}
	return f.moment(now)
}

// tokenDigits holds the smallest and largest number of digits of each numeric token, and its range.
var tokenDigits = map[string]struct{ least, most, low, high int }{
	"YYYY": {4, 4, 1, 9999}, "YY": {2, 2, 0, 99}, "Q": {1, 1, 1, 4}, "M": {1, 2, 1, 12}, "MM": {2, 2, 1, 12},
	"D": {1, 2, 1, 31}, "DD": {2, 2, 1, 31}, "DDD": {1, 3, 1, 366}, "DDDD": {3, 3, 1, 366},
	"gggg": {4, 4, 1, 9999}, "gg": {2, 2, 0, 99}, "w": {1, 2, 1, 53}, "ww": {2, 2, 1, 53}, "e": {1, 1, 0, 6},
	"GGGG": {4, 4, 1, 9999}, "GG": {2, 2, 0, 99}, "W": {1, 2, 1, 53}, "WW": {2, 2, 1, 53}, "E": {1, 1, 1, 7},
	"H": {1, 2, 0, 23}, "HH": {2, 2, 0, 23}, "h": {1, 2, 1, 12}, "hh": {2, 2, 1, 12},
	"m": {1, 2, 0, 59}, "mm": {2, 2, 0, 59}, "s": {1, 2, 0, 59}, "ss": {2, 2, 0, 59},
	"S": {1, 1, 0, 9}, "SS": {2, 2, 0, 99}, "SSS": {3, 3, 0, 999},
}

// badToken is the error for a text that does not begin with the expected token.
type badToken struct{ name, rest string }

// Error implements error.
func (e badToken) Error() string { return fmt.Sprintf("%q does not begin with %s", e.rest, e.name) }

// maxFormat is the longest accepted format in bytes. The text for a token may be a few bytes longer
// than the token.
const maxFormat = 200

// take parses one token at the beginning of rest and returns its length.
func (f *formatted) take(name, rest string) (int, error) {
	bad := badToken{name, rest}
	if d, numeric := tokenDigits[name]; numeric {
		n := 0
		for n < len(rest) && n < d.most && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		number, err := strconv.Atoi(rest[:n])
		if err != nil || n < d.least || number < d.low || number > d.high {
			return 0, bad
		}
		f.set(name, number)
		return n, nil
	}
	switch name {
	case "MMM", "MMMM":
		for i, month := range civil.MonthNames {
			for _, form := range []string{month, month[:3]} {
				if len(rest) >= len(form) && strings.EqualFold(rest[:len(form)], form) {
					f.month = i + 1
					return len(form), nil
				}
			}
		}
	case "Do":
		n := 0
		for n < len(rest) && n < 2 && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		number, err := strconv.Atoi(rest[:n])
		if err == nil && number >= 1 && number <= 31 && len(rest) >= n+2 && strings.EqualFold(rest[n:n+2], ordinalSuffix(number)) {
			f.day = number
			return n + 2, nil
		}
	case "a", "A":
		if len(rest) >= 2 && strings.EqualFold(rest[:2], "am") {
			f.half = 0
			return 2, nil
		}
		if len(rest) >= 2 && strings.EqualFold(rest[:2], "pm") {
			f.half = 12
			return 2, nil
		}
	case "Z", "ZZ":
		for _, n := range []int{6, 5, 3, 1} {
			if len(rest) >= n {
				if offset, err := syntax.ParseOffset(rest[:n]); err == nil {
					f.offset, f.hasOffset = offset, true
					return n, nil
				}
			}
		}
	case "X", "x":
		n := 0
		for n < len(rest) && strings.IndexByte("-0123456789.", rest[n]) >= 0 {
			n++
		}
		number, err := strconv.ParseFloat(rest[:n], 64)
		if name == "x" {
			number /= 1000
		}
		if err != nil || math.Abs(number) > 253402300799 || name == "x" && strings.Contains(rest[:n], ".") {
			return 0, bad
		}
		at := time.Unix(int64(math.Floor(number)), 0)
		f.unix = &at
		return n, nil
	}
	return 0, bad
}

func ordinalSuffix(n int) string {
	switch {
	case n/10 == 1:
		return "th"
	case n%10 == 1:
		return "st"
	case n%10 == 2:
		return "nd"
	case n%10 == 3:
		return "rd"
	}
	return "th"
}

// fullYear returns the year of two digits: 69 is 1969, 68 is 2068.
func fullYear(n int) int {
	if n > 68 {
		return 1900 + n
	}
	return 2000 + n
}

func (f *formatted) set(name string, n int) {
	switch name {
	case "YYYY":
		f.year = n
	case "YY":
		f.year = fullYear(n)
	case "Q":
		f.quarter = n
	case "M", "MM":
		f.month = n
	case "D", "DD":
		f.day = n
	case "DDD", "DDDD":
		f.dayOfYear = n
	case "gggg":
		f.localYear = n
	case "gg":
		f.localYear = fullYear(n)
	case "w", "ww":
		f.localWeek = n
	case "e":
		f.localDay = n
	case "GGGG":
		f.isoYear = n
	case "GG":
		f.isoYear = fullYear(n)
	case "W", "WW":
		f.isoWeek = n
	case "E":
		f.isoDay = n
	case "H", "HH":
		f.hour = n
	case "h", "hh":
		f.hour12 = n
	case "m", "mm":
		f.minute = n
	case "s", "ss":
		f.second = n
	}
	// S, SS and SSS are parsed and ignored: due instants are whole seconds.
}

// moment returns the date and clock time of the parts.
func (f *formatted) moment(now time.Time) (syntax.DateTime, error) {
	if f.unix != nil {
		unix := f.unix.Unix()
		day := civil.FloorDiv(unix, civil.DaySeconds)
		return syntax.DateTime{Day: day, Second: int(unix - day*civil.DaySeconds), HasOffset: true, HasTime: true}, nil
	}
	day, err := f.dayNumber(now)
	if err != nil {
		return syntax.DateTime{}, err
	}
	m := syntax.DateTime{Day: day, Offset: f.offset, HasOffset: f.hasOffset}
	hour := f.hour
	switch {
	case f.hour12 >= 0 && f.half < 0:
		return syntax.DateTime{}, errors.New("h and hh need a or A")
	case f.hour12 >= 0:
		hour = f.hour12%12 + f.half
	}
	m.HasTime = hour >= 0
	m.Second = max(hour, 0)*3600 + max(f.minute, 0)*60 + max(f.second, 0)
	return m, nil
}

// dayNumber returns the day number of the parts.
func (f *formatted) dayNumber(now time.Time) (int64, error) {
	today := civil.FloorDiv(civil.Seconds(now), civil.DaySeconds)
	current := civil.DateOf(today)
	year := f.year
	if year < 0 {
		year = current.Year
	}
	switch {
	case f.isoWeek >= 0 || f.isoYear >= 0 || f.isoDay >= 0:
		// The ISO year and week of a day are those of the Thursday in its week.
		thursday := today - int64(civil.Weekday(today)) + 3
		isoYear, week := f.isoYear, f.isoWeek
		if isoYear < 0 {
			if isoYear = f.year; isoYear < 0 {
				isoYear = civil.DateOf(thursday).Year
			}
		}
		if week < 0 {
			if week = 1; f.isoYear < 0 {
				week = int(thursday-syntax.ISOYearStart(isoYear))/7 + 1
			}
		}
		return syntax.ISOWeekDay(isoYear, week, max(f.isoDay, 1))
	case f.localWeek >= 0 || f.localYear >= 0 || f.localDay >= 0:
		return f.localDayNumber(today)
	case f.dayOfYear >= 0:
		return syntax.OrdinalDay(year, f.dayOfYear)
	}
	month := f.month
	if month < 0 && f.quarter >= 0 {
		month = f.quarter*3 - 2
	}
	day := f.day
	if month < 0 {
		if month = 1; f.year < 0 {
			month = int(current.Month)
		}
		if day < 0 && f.year < 0 {
			day = current.Day
		}
	}
	return syntax.CalendarDay(year, month, max(day, 1))
}

// localDayNumber returns the day number of a date given by the English week. The week begins on
// Sunday (e is 0), and week 1 contains 1 January.
func (f *formatted) localDayNumber(today int64) (int64, error) {
	start := func(year int) int64 {
		first := civil.DayNumber(year, time.January, 1)
		return first - int64(civil.Weekday(first)+1)%7
	}
	saturday := today + 6 - int64(civil.Weekday(today)+1)%7
	year, week := f.localYear, f.localWeek
	if year < 0 {
		if year = f.year; year < 0 {
			year = civil.DateOf(saturday).Year
		}
	}
	if week < 0 {
		if week = 1; f.localYear < 0 {
			week = int(today-start(year))/7 + 1
		}
	}
	at := start(year) + int64(week-1)*7 + int64(max(f.localDay, 0))
	if week < 1 || at >= start(year+1) {
		return 0, fmt.Errorf("there is no week %d in %d", week, year)
	}
	return at, nil
}
