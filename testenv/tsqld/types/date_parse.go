package types

import (
	"strings"
	"unicode/utf8"
)

// NoStyle is the style of a CAST, and of a CONVERT without a style: dates are read in the session's
// order, and the newer time types are printed in ISO form. It differs from style 0.
const NoStyle = -1

// inputOrder returns the order of year, month and day that a style uses for input, by default that
// of the session; "" for an unknown style.
func inputOrder(style int, session DateOrder) string {
	switch style {
	case NoStyle, 0:
		return session.String()
	case 100, 1, 101, 7, 107, 9, 109, 10, 110, 22, 8, 24, 108, 14, 114:
		return "mdy"
	case 3, 103, 4, 104, 5, 105, 6, 106, 13, 113, 130, 131:
		return "dmy"
	case 2, 102, 11, 111, 12, 112, 20, 120, 21, 25, 121, 23, 126, 127:
		return "ymd"
	}
	return ""
}

// clockText is a parsed date or time text.
type clockText struct {
	hasDate, hasTime  bool
	year, month, day  int
	ticks             int64 // since midnight
	fraction          int   // digits of the fraction of a second in the text
	hasOffset, isZulu bool
	offset            int // minutes east of UTC
}

// parseFault distinguishes a text that is not a date from a date that does not exist.
type parseFault uint8

const (
	parsedOK parseFault = iota
	badSyntax
	outOfRange
)

// twoDigitCutoff is the last year that two digits can stand for ("two digit year cutoff", default
// 2049).
const twoDigitCutoff = 2049

// dateNumber is one number of a date text.
type dateNumber struct {
	value, width int
}

// clockParser reads date and time texts in every form that "date", "time" and "datetime
// (Transact-SQL)" list: numeric with - / or ., alphabetical, ISO 8601, unseparated, and ODBC's
// inner text.
type clockParser struct {
	s       string
	pos     int
	order   string
	legacy  bool // datetime and smalldatetime: year-first texts follow DATEFORMAT
	isHijri bool // styles 130 and 131: the date is one of the Hijri calendar
	names   *Language
	iso     bool // the T of ISO 8601 was read; no setting changes its order
	out     clockText
	numbers []dateNumber
	month   int // from a month's name, 0 without one
	before  int // how many numbers precede the name
}

// parseClock reads a whole text. An empty text is 1900-01-01 00:00.
func parseClock(s, order string, legacy, isHijri bool, names *Language) (clockText, parseFault) {
	p := clockParser{s: s, order: order, legacy: legacy, isHijri: isHijri, names: names, numbers: make([]dateNumber, 0, 3)}
	if f := p.run(); f != parsedOK {
		return clockText{}, f
	}
	if f := p.date(); f != parsedOK {
		return clockText{}, f
	}
	return p.out, parsedOK
}

// run reads the tokens.
func (p *clockParser) run() parseFault {
	for {
		p.blanks()
		if p.pos == len(p.s) {
			return parsedOK
		}
		c := p.s[p.pos]
		switch {
		case isDigit(c):
			if f := p.number(); f != parsedOK {
				return f
			}
		case c == ',' && (len(p.numbers) > 0 || p.month > 0) && !p.out.hasTime:
			p.pos++
		case (c == '+' || c == '-') && p.out.hasTime && !p.out.hasOffset:
			if f := p.zone(); f != parsedOK {
				return f
			}
		case isLetter(c), c >= utf8.RuneSelf:
			if f := p.word(); f != parsedOK {
				return f
			}
		default:
			return badSyntax
		}
	}
}

func (p *clockParser) blanks() {
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t' || p.s[p.pos] == '\r' || p.s[p.pos] == '\n') {
		p.pos++
	}
}

// digits reads a run of digits; more than nine are not a number of a date.
func (p *clockParser) digits() (value, width int, ok bool) {
	start := p.pos
	for p.pos < len(p.s) && isDigit(p.s[p.pos]) {
		if p.pos-start >= 9 {
			return 0, 0, false
		}
		value = 10*value + int(p.s[p.pos]-'0')
		p.pos++
	}
	return value, p.pos - start, p.pos > start
}

// number reads a number of the date, or a time that begins with it.
func (p *clockParser) number() parseFault {
	value, width, ok := p.digits()
	if !ok {
		return badSyntax
	}
	if p.peek() == ':' || p.meridianFollows() {
		if p.out.hasTime || width > 2 {
			return badSyntax
		}
		return p.clock(value)
	}
	if p.out.hasTime && p.out.hasDate {
		return badSyntax
	}
	p.numbers = append(p.numbers, dateNumber{value, width})
	if len(p.numbers) > 3 {
		return badSyntax
	}
	// A separator may follow, with blanks around it, but only between two parts.
	save := p.pos
	p.blanks()
	if c := p.peek(); c == '-' || c == '/' || c == '.' {
		if len(p.numbers) == 3 || p.month > 0 && len(p.numbers) == 2 {
			return badSyntax
		}
		p.pos++
		p.blanks()
		if c := p.peek(); !isDigit(c) && !isLetter(c) && c < utf8.RuneSelf {
			return badSyntax
		}
		return parsedOK
	}
	p.pos = save
	return parsedOK
}

// peek returns the current byte, 0 at the end.
func (p *clockParser) peek() byte {
	if p.pos < len(p.s) {
		return p.s[p.pos]
	}
	return 0
}

// meridianFollows reports whether AM or PM comes next.
func (p *clockParser) meridianFollows() bool {
	rest := strings.TrimLeft(p.s[p.pos:], " ")
	if len(rest) < 2 || (rest[0]|0x20 != 'a' && rest[0]|0x20 != 'p') || rest[1]|0x20 != 'm' {
		return false
	}
	return len(rest) == 2 || !isLetter(rest[2])
}

// clock reads the rest of a time after its hour.
func (p *clockParser) clock(hour int) parseFault {
	var minute, second int
	var fraction int64
	if p.peek() == ':' {
		p.pos++
		var width int
		var ok bool
		if minute, width, ok = p.digits(); !ok || width > 2 {
			return badSyntax
		}
		if p.peek() == ':' {
			p.pos++
			if second, width, ok = p.digits(); !ok || width > 2 {
				return badSyntax
			}
			if c := p.peek(); c == '.' || c == ':' {
				p.pos++
				value, width, ok := p.digits()
				if !ok || width > maxTimeFrac || c == ':' && width > 3 {
					return badSyntax
				}
				p.out.fraction = width
				if c == ':' { // milliseconds, not a fraction: 12:00:00:5 is 5 ms
					fraction = int64(value) * TicksPerSecond / 1000
					p.out.fraction = 3
				} else {
					fraction = int64(value) * pow10[maxTimeFrac-width]
				}
			}
		}
	}
	if p.meridianFollows() {
		p.blanks()
		isPM := p.s[p.pos]|0x20 == 'p'
		p.pos += 2
		switch {
		case hour > 12 && !isPM, hour > 23: // 13 to 23 PM are accepted
			return outOfRange
		case hour == 12 && !isPM:
			hour = 0
		case hour < 12 && isPM:
			hour += 12
		}
	}
	if hour > 23 || minute > 59 || second > 59 {
		return outOfRange
	}
	p.out.hasTime = true
	p.out.ticks = int64(hour)*TicksPerHour + int64(minute)*TicksPerMinute + int64(second)*TicksPerSecond + fraction
	return parsedOK
}

// zone reads ±hh:mm. One digit of minutes is accepted: "datetimeoffset (Transact-SQL)" converts the
// literal '1912-10-25 12:24:32 +10:0'.
func (p *clockParser) zone() parseFault {
	isWest := p.s[p.pos] == '-'
	p.pos++
	hour, width, ok := p.digits()
	if !ok || width > 2 || p.peek() != ':' {
		return badSyntax
	}
	p.pos++
	minute, width, ok := p.digits()
	if !ok || width > 2 {
		return badSyntax
	}
	offset := 60*hour + minute
	if minute > 59 || offset > maxOffset {
		return outOfRange
	}
	if isWest {
		offset = -offset
	}
	p.out.hasOffset, p.out.offset = true, offset
	return parsedOK
}

// word reads a month, the T of ISO 8601 or its Z.
func (p *clockParser) word() parseFault {
	start := p.pos
	for p.pos < len(p.s) && isLetter(p.s[p.pos]) {
		p.pos++
	}
	word := p.s[start:p.pos]
	switch {
	case strings.EqualFold(word, "T") && len(p.numbers) > 0 && !p.out.hasTime && isDigit(p.peek()):
		p.iso = true
		return parsedOK
	case strings.EqualFold(word, "Z") && p.out.hasTime && !p.out.hasOffset:
		p.out.hasOffset, p.out.isZulu = true, true
		return parsedOK
	}
	month, length := p.names.monthPrefix(p.s[start:])
	if month == 0 || p.month > 0 {
		return badSyntax
	}
	p.pos = start + length
	p.month, p.before = month, len(p.numbers)
	p.blanks()
	if c := p.peek(); c == '-' || c == '/' || c == '.' {
		p.pos++
	}
	return parsedOK
}

// date assembles the numbers to a date.
func (p *clockParser) date() parseFault {
	out := &p.out
	out.year, out.month, out.day = 1900, 1, 1
	n := p.numbers
	if len(n) == 0 && p.month == 0 {
		return parsedOK
	}
	out.hasDate = true
	switch {
	case p.month > 0:
		return p.named()
	case len(n) == 1:
		return p.unseparated(n[0])
	case len(n) != 3:
		return badSyntax
	}
	order := p.order
	switch {
	case n[0].width == 4:
		order = "ymd"
		if p.legacy && !p.iso && strings.IndexByte(p.order, 'd') < strings.IndexByte(p.order, 'm') {
			order = "ydm"
		}
	case n[2].width == 4:
		order = "mdy"
		if strings.IndexByte(p.order, 'd') < strings.IndexByte(p.order, 'm') {
			order = "dmy"
		}
	case n[1].width == 4:
		order = "myd"
		if strings.IndexByte(p.order, 'd') < strings.IndexByte(p.order, 'm') {
			order = "dym"
		}
	}
	if order == "ydm" && !p.legacy {
		return badSyntax // "SET DATEFORMAT (Transact-SQL)": not supported for date, datetime2 and datetimeoffset
	}
	var year dateNumber
	for i, part := range []byte(order) {
		switch part {
		case 'y':
			year = n[i]
		case 'm':
			out.month = n[i].value
		case 'd':
			out.day = n[i].value
		}
	}
	for _, part := range n {
		if part.width > 2 && part != year {
			return badSyntax
		}
	}
	return p.finish(year)
}

// named handles dates with the name of a month: a year and at most one day.
func (p *clockParser) named() parseFault {
	p.out.month = p.month
	n := p.numbers
	switch len(n) {
	case 1:
		// "Jan 1996" or "1996 Jan"; four digits are required for a year without a day.
		if n[0].width != 4 {
			return badSyntax
		}
		return p.finish(n[0])
	case 2:
		day, year := n[0], n[1]
		if n[0].width == 4 {
			day, year = n[1], n[0]
		}
		if day.width > 2 {
			return badSyntax
		}
		p.out.day = day.value
		return p.finish(year)
	}
	return badSyntax
}

// unseparated handles yyyymmdd, yymmdd and yyyy.
func (p *clockParser) unseparated(n dateNumber) parseFault {
	switch n.width {
	case 8:
		p.out.month, p.out.day = n.value/100%100, n.value%100
		return p.finish(dateNumber{n.value / 10000, 4})
	case 6:
		p.out.month, p.out.day = n.value/100%100, n.value%100
		return p.finish(dateNumber{n.value / 10000, 2})
	case 4:
		return p.finish(n)
	}
	return badSyntax
}

// finish sets the year and checks the date.
func (p *clockParser) finish(year dateNumber) parseFault {
	switch year.width {
	case 4:
		p.out.year = year.value
	case 1, 2:
		p.out.year = twoDigitCutoff/100*100 + year.value
		if p.out.year > twoDigitCutoff {
			p.out.year -= 100
		}
	default:
		return badSyntax
	}
	if p.isHijri {
		days, ok := fromHijri(p.out.year, p.out.month, p.out.day)
		if !ok {
			return outOfRange
		}
		p.out.year, p.out.month, p.out.day = DateOf(days)
		return parsedOK
	}
	if !ValidDate(p.out.year, p.out.month, p.out.day) {
		return outOfRange
	}
	return parsedOK
}

// localTicks returns date and time as ticks.
func (c clockText) localTicks() int64 { return Days(c.year, c.month, c.day)*TicksPerDay + c.ticks }

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
