package format

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// NumberStyle is the kind of a text that a culture reads as a number.
type NumberStyle uint8

// The styles that PARSE uses: .NET's NumberStyles.Number, Float and Currency.
const (
	StyleNumber NumberStyle = iota
	StyleFloat
	StyleCurrency
)

// ReadNumber returns a number as a literal of T-SQL; ok is false for a text that is no number of
// the style in the culture.
func (c *Culture) ReadNumber(text string, style NumberStyle) (number string, ok bool) {
	s := strings.TrimSpace(text)
	sign := ""
	if style == StyleCurrency {
		if inner, found := strings.CutPrefix(s, "("); found {
			if s, found = strings.CutSuffix(inner, ")"); !found {
				return "", false
			}
			sign = "-"
		}
		s = strings.TrimSpace(strings.Replace(s, c.Currency, "", 1))
	}
	trim := func(rest string, isSign bool, given string) {
		if isSign && sign == "" {
			sign, s = given, strings.TrimSpace(rest)
		}
	}
	for _, given := range []string{"-", "+"} {
		rest, isSign := strings.CutPrefix(s, given)
		trim(rest, isSign, given)
		if style != StyleFloat {
			rest, isSign = strings.CutSuffix(s, given)
			trim(rest, isSign, given)
		}
	}
	if style == StyleCurrency {
		s = strings.TrimSpace(strings.Replace(s, c.Currency, "", 1))
	}
	whole, fraction, _ := strings.Cut(s, c.Decimal)
	if style != StyleFloat {
		whole = strings.ReplaceAll(whole, c.Group, "")
		if c.Group == "\u00a0" {
			whole = strings.ReplaceAll(whole, " ", "")
		}
	}
	number = whole
	if fraction != "" {
		number += "." + fraction
	}
	form := plainForm
	if style == StyleFloat {
		form = floatForm
	}
	if !form.MatchString(number) {
		return "", false
	}
	return strings.TrimPrefix(sign, "+") + number, true
}

var (
	plainForm = regexp.MustCompile(`^(\d+(\.\d*)?|\.\d+)$`)
	floatForm = regexp.MustCompile(`^(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)
	// clockForm is a time of day, with an offset from UTC behind it.
	clockForm = regexp.MustCompile(`(?i)^(.*?)(?:^|[ t])(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,7}))?)?)? *(\pL[\pL.]*)? *(z|[+-]\d{1,2}(?::?\d{2})?)?$`)
	// dateForm splits a date into numbers and words.
	dateForm = regexp.MustCompile(`\d+|[\pL.']+|[^\pL\d]+`)
)

// twoDigitYear is the last year of two digits in .NET's Gregorian calendar.
const twoDigitYear = 2029

// ReadDate reads a date with a year, and a time of day if there is one. hasOffset reports whether
// the text has an offset from UTC; the time is in UTC without one. ok is false for a text that is
// no date. Error: 40517 for a text without a year or without a date, which .NET completes by the
// current date.
func (c *Culture) ReadDate(text string) (t time.Time, hasOffset, ok bool, err error) {
	date := strings.TrimSpace(text)
	var clock time.Duration
	zone := time.UTC
	if m := clockForm.FindStringSubmatch(date); m != nil && (m[3] != "" || c.half(m[6]) >= 0) {
		if clock, ok = c.clock(m[2:7]); !ok {
			return t, false, false, nil
		}
		if zone, ok = offsetZone(m[7]); !ok {
			return t, false, false, nil
		}
		date, hasOffset = strings.TrimSpace(m[1]), m[7] != ""
	}
	if date == "" {
		return t, false, false, mserr.NotSupported("PARSE of a time without a date")
	}
	year, month, day, weekday, ok := c.date(date)
	if !ok {
		return t, false, false, nil
	}
	if year == 0 {
		return t, false, false, mserr.NotSupported("PARSE of a date without a year")
	}
	if year < 100 {
		if year += 2000; year > twoDigitYear {
			year -= 100
		}
	}
	t = time.Date(year, time.Month(month), day, 0, 0, 0, 0, zone)
	if t.Month() != time.Month(month) || t.Day() != day || weekday >= 0 && t.Weekday() != time.Weekday(weekday) {
		return t, false, false, nil
	}
	return t.Add(clock), hasOffset, true, nil
}

// half returns 0 for the morning, 12 for the afternoon and -1 for other words.
func (c *Culture) half(word string) int {
	switch {
	case word == "":
	case strings.EqualFold(word, c.AM), strings.EqualFold(word, "am"), strings.EqualFold(word, "a"):
		return 0
	case strings.EqualFold(word, c.PM), strings.EqualFold(word, "pm"), strings.EqualFold(word, "p"):
		return 12
	}
	return -1
}

// clock returns the time of day of the hour, minute, second, fraction and half of the day.
func (c *Culture) clock(parts []string) (time.Duration, bool) {
	n := [3]int{}
	for i, p := range parts[:3] {
		n[i], _ = strconv.Atoi("0" + p)
	}
	if half := c.half(parts[4]); half >= 0 {
		if n[0] > 12 {
			return 0, false
		}
		n[0] = n[0]%12 + half
	} else if parts[4] != "" {
		return 0, false
	}
	ticks, _ := strconv.Atoi((parts[3] + "0000000")[:7])
	return time.Duration(n[0])*time.Hour + time.Duration(n[1])*time.Minute + time.Duration(n[2])*time.Second + time.Duration(ticks)*100,
		n[0] < 24 && n[1] < 60 && n[2] < 60
}

// offsetZone returns the zone of Z, +hh:mm and the like.
func offsetZone(text string) (*time.Location, bool) {
	if text == "" || strings.EqualFold(text, "z") {
		return time.UTC, true
	}
	digits := strings.ReplaceAll(text[1:], ":", "")
	hours, minutes := digits, ""
	if len(digits) > 2 {
		hours, minutes = digits[:len(digits)-2], digits[len(digits)-2:]
	}
	h, _ := strconv.Atoi(hours)
	m, _ := strconv.Atoi("0" + minutes)
	seconds := h*3600 + m*60
	if text[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone(fmt.Sprint(text), seconds), h <= 14 && m < 60
}

// date reads the parts of a date: a year of 0 if there is none, a weekday of -1 if none is named.
func (c *Culture) date(text string) (year, month, day, weekday int, ok bool) {
	weekday = -1
	var numbers []string
	for _, part := range dateForm.FindAllString(text, -1) {
		switch at := c.monthOf(part); {
		case part[0] >= '0' && part[0] <= '9':
			numbers = append(numbers, part)
		case strings.Trim(part, " ,./-\u00a0年月日") == "":
		case at > 0 && month == 0:
			month = at
		case c.dayOf(part) >= 0 && weekday < 0:
			weekday = c.dayOf(part)
		case !strings.Contains(c.LongDate, strings.Trim(part, "'.")):
			return 0, 0, 0, 0, false
		}
	}
	order := c.order()
	if len(numbers) > 0 && len(numbers[0]) > 2 {
		order = "yMd"
	}
	if month > 0 {
		order = strings.ReplaceAll(order, "M", "")
		if order[0] == 'y' && (len(numbers) < 2 || len(numbers[0]) <= 2) {
			order = "dy"
		}
		if len(numbers) == 1 && len(numbers[0]) > 2 {
			order, day = "y", 1
		}
	}
	if len(numbers) > len(order) || len(numbers) == 0 || month == 0 && len(numbers) < 3 {
		return 0, 0, 0, 0, false
	}
	for i, text := range numbers {
		n, err := strconv.Atoi(text)
		if err != nil || n == 0 && order[i] != 'y' || len(text) > 4 || order[i] != 'y' && len(text) > 2 {
			return 0, 0, 0, 0, false
		}
		switch order[i] {
		case 'y':
			if year = n; n < 100 && len(text) > 2 || n == 0 {
				return 0, 0, 0, 0, false
			}
		case 'M':
			month = n
		case 'd':
			day = n
		}
	}
	return year, month, day, weekday, day > 0
}

// order returns the order of day, month and year in the short pattern.
func (c *Culture) order() string {
	order := ""
	for _, ch := range c.ShortDate {
		if strings.ContainsRune("dMy", ch) && !strings.ContainsRune(order, ch) {
			order += string(ch)
		}
	}
	return order
}

// monthOf returns the number of a named month, 0 for other words.
func (c *Culture) monthOf(word string) int {
	for _, names := range [][]string{c.Months, c.ShortMonths, c.Genitive} {
		if i := named(names, word); i >= 0 {
			return i + 1
		}
	}
	return 0
}

// dayOf returns the number of a named weekday from 0 for Sunday, -1 for other words.
func (c *Culture) dayOf(word string) int {
	if i := named(c.Days, word); i >= 0 {
		return i
	}
	return named(c.ShortDays, word)
}

// named returns the index of a name without regard to case and to a period at its end, or -1.
func named(names []string, word string) int {
	for i, name := range names {
		if strings.EqualFold(strings.TrimSuffix(name, "."), strings.TrimSuffix(word, ".")) {
			return i
		}
	}
	return -1
}
