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

// The numbers that a text may contain. What is parsed into ignored has no effect: due instants are
// whole seconds.
const (
	year = iota
	quarter
	month
	day
	dayOfYear
	isoYear
	isoWeek
	isoDay
	localYear
	localWeek
	localDay
	hour
	hour12
	minute
	second
	half // 0 am, 12 pm
	ignored
	parts
)

// formatted holds the parts of a date that a text contains.
type formatted struct {
	part      [parts]int // -1 means absent
	offset    int
	hasOffset bool
	unix      *time.Time
}

// parseFormatted parses a text by the tokens of its format. A missing part that is larger than all
// given parts (the year of "DD.MM.") is taken from now. Any other missing part gets its smallest
// value.
func parseFormatted(text string, tokens []formatToken, now time.Time) (syntax.DateTime, error) {
	f := formatted{}
	for i := range f.part {
		f.part[i] = -1
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

// tokenDigits holds the part of each numeric token, its smallest and largest number of digits, and
// its range.
var tokenDigits = map[string]struct{ part, least, most, low, high int }{
	"YYYY": {year, 4, 4, 1, 9999}, "YY": {year, 2, 2, 0, 99}, "Q": {quarter, 1, 1, 1, 4}, "M": {month, 1, 2, 1, 12}, "MM": {month, 2, 2, 1, 12},
	"D": {day, 1, 2, 1, 31}, "DD": {day, 2, 2, 1, 31}, "DDD": {dayOfYear, 1, 3, 1, 366}, "DDDD": {dayOfYear, 3, 3, 1, 366},
	"gggg": {localYear, 4, 4, 1, 9999}, "gg": {localYear, 2, 2, 0, 99}, "w": {localWeek, 1, 2, 1, 53}, "ww": {localWeek, 2, 2, 1, 53}, "e": {localDay, 1, 1, 0, 6},
	"GGGG": {isoYear, 4, 4, 1, 9999}, "GG": {isoYear, 2, 2, 0, 99}, "W": {isoWeek, 1, 2, 1, 53}, "WW": {isoWeek, 2, 2, 1, 53}, "E": {isoDay, 1, 1, 1, 7},
	"H": {hour, 1, 2, 0, 23}, "HH": {hour, 2, 2, 0, 23}, "h": {hour12, 1, 2, 1, 12}, "hh": {hour12, 2, 2, 1, 12},
	"m": {minute, 1, 2, 0, 59}, "mm": {minute, 2, 2, 0, 59}, "s": {second, 1, 2, 0, 59}, "ss": {second, 2, 2, 0, 59},
	"S": {ignored, 1, 1, 0, 9}, "SS": {ignored, 2, 2, 0, 99}, "SSS": {ignored, 3, 3, 0, 999},
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
		number, n := digits(rest, d.most)
		if n < d.least || number < d.low || number > d.high {
			return 0, bad
		}
		if (d.part == year || d.part == isoYear || d.part == localYear) && d.most == 2 { // 69 is 1969, 68 is 2068
			if number += 1900; number < 1969 {
				number += 100
			}
		}
		f.part[d.part] = number
		return n, nil
	}
	switch name {
	case "MMM", "MMMM":
		for i, name := range civil.MonthNames {
			for _, form := range []string{name, name[:3]} {
				if begins(rest, form) {
					f.part[month] = i + 1
					return len(form), nil
				}
			}
		}
	case "Do":
		number, n := digits(rest, 2)
		if number >= 1 && number <= 31 && begins(rest[n:], ordinalSuffix(number)) {
			f.part[day] = number
			return n + 2, nil
		}
	case "a", "A":
		for i, form := range []string{"am", "pm"} {
			if begins(rest, form) {
				f.part[half] = 12 * i
				return 2, nil
			}
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

// digits returns the number at the beginning of a text, and its digits, at most so many.
func digits(text string, most int) (number, n int) {
	for n < len(text) && n < most && text[n] >= '0' && text[n] <= '9' {
		number = 10*number + int(text[n]-'0')
		n++
	}
	return number, n
}

// begins reports whether a text begins with a word in any case.
func begins(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
}

// moment returns the date and clock time of the parts.
func (f *formatted) moment(now time.Time) (syntax.DateTime, error) {
	if f.unix != nil {
		unix := f.unix.Unix()
		day := civil.FloorDiv(unix, civil.DaySeconds)
		return syntax.DateTime{Day: day, Second: int(unix - day*civil.DaySeconds), HasOffset: true, HasTime: true}, nil
	}
	number, err := f.dayNumber(now)
	if err != nil {
		return syntax.DateTime{}, err
	}
	hours := f.part[hour]
	switch {
	case f.part[hour12] >= 0 && f.part[half] < 0:
		return syntax.DateTime{}, errors.New("h and hh need a or A")
	case f.part[hour12] >= 0:
		hours = f.part[hour12]%12 + f.part[half]
	}
	return syntax.DateTime{
		Day: number, Second: max(hours, 0)*3600 + max(f.part[minute], 0)*60 + max(f.part[second], 0), HasTime: hours >= 0,
		Offset: f.offset, HasOffset: f.hasOffset,
	}, nil
}

// dayNumber returns the day number of the parts.
func (f *formatted) dayNumber(now time.Time) (int64, error) {
	today := civil.FloorDiv(civil.Seconds(now), civil.DaySeconds)
	current := civil.DateOf(today)
	inYear := f.part[year]
	if inYear < 0 {
		inYear = current.Year
	}
	switch p := &f.part; {
	case p[isoWeek] >= 0 || p[isoYear] >= 0 || p[isoDay] >= 0:
		// The ISO year and week of a day are those of the Thursday in its week.
		in, week := f.week(p[isoYear], p[isoWeek], today-int64(civil.Weekday(today))+3, syntax.ISOYearStart)
		return syntax.ISOWeekDay(in, week, max(p[isoDay], 1))
	case p[localWeek] >= 0 || p[localYear] >= 0 || p[localDay] >= 0:
		return f.localDayNumber(today)
	case p[dayOfYear] >= 0:
		return syntax.OrdinalDay(inYear, p[dayOfYear])
	}
	inMonth, at := f.part[month], f.part[day]
	if inMonth < 0 && f.part[quarter] >= 0 {
		inMonth = f.part[quarter]*3 - 2
	}
	if inMonth < 0 {
		if inMonth = 1; f.part[year] < 0 {
			inMonth = int(current.Month)
		}
		if at < 0 && f.part[year] < 0 {
			at = current.Day
		}
	}
	return syntax.CalendarDay(inYear, inMonth, max(at, 1))
}

// week returns the year and the week of the parts. Without a year, they are those of today's week.
// decisive is the day of that week whose year is the week's, and start returns the first day of a
// year's first week.
func (f *formatted) week(in, week int, decisive int64, start func(year int) int64) (int, int) {
	if in < 0 {
		in = f.part[year]
	}
	if in < 0 {
		if in = civil.DateOf(decisive).Year; week < 0 {
			week = int(decisive-start(in))/7 + 1
		}
	}
	return in, max(week, 1)
}

// localDayNumber returns the day number of a date given by the English week. The week begins on
// Sunday (e is 0), and week 1 contains 1 January.
func (f *formatted) localDayNumber(today int64) (int64, error) {
	start := func(year int) int64 {
		first := civil.DayNumber(year, time.January, 1)
		return first - int64(civil.Weekday(first)+1)%7
	}
	saturday := today + 6 - int64(civil.Weekday(today)+1)%7
	in, week := f.week(f.part[localYear], f.part[localWeek], saturday, start)
	at := start(in) + int64(week-1)*7 + int64(max(f.part[localDay], 0))
	if at >= start(in+1) {
		return 0, fmt.Errorf("the year %d has no week %d", in, week)
	}
	return at, nil
}
