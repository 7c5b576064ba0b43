package format

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// standardTimes are the standard formats of time (a .NET TimeSpan).
var standardTimes = map[string]string{"c": `hh\:mm\:ss`, "t": `hh\:mm\:ss`, "T": `hh\:mm\:ss`, "g": `h\:mm\:ss`, "G": `0\:hh\:mm\:ss\.fffffff`}

// temporal prints a date or time in a standard (one letter) or custom format. For time values only
// the custom formats of TimeSpan exist: separators must be quoted or escaped.
func (c *Culture) temporal(m *meter.Meter, v types.Value, t types.Type, format string) (_ string, ok bool, err error) {
	isTime := t.ID == types.Time
	if len(format) == 1 {
		long, ok := c.datePattern(format)
		if isTime {
			long, ok = standardTimes[format]
		}
		if !ok {
			return "", false, nil
		}
		if format == "r" || format == "R" {
			c = invariant()
		}
		format = long
	}
	ticks := types.LocalTicks(v, t)
	offset := -1 << 31
	if b, ok := v.([]byte); ok {
		_, offset = types.SplitOffset(b)
	}
	days, clock := ticks/types.TicksPerDay, ticks%types.TicksPerDay
	f := clockFields{culture: c, days: days, offset: offset, besideDay: namesDay(format)}
	f.year, f.month, f.day = types.DateOf(days)
	f.hour = int(clock / types.TicksPerHour)
	f.minute = int(clock / types.TicksPerMinute % 60)
	f.second = int(clock / types.TicksPerSecond % 60)
	f.fraction = clock % types.TicksPerSecond
	var out strings.Builder
	for i := 0; i < len(format); {
		if err := m.Work(partWork); err != nil {
			return "", false, err
		}
		ch := format[i]
		n := 1
		for i+n < len(format) && format[i+n] == ch {
			n++
		}
		switch {
		case ch == '\\':
			if i+1 >= len(format) {
				return "", false, nil
			}
			out.WriteByte(format[i+1])
			i += 2
			continue
		case ch == '\'' || ch == '"':
			end := strings.IndexByte(format[i+1:], ch)
			if end < 0 {
				return "", false, nil
			}
			out.WriteString(format[i+1 : i+1+end])
			i += end + 2
			continue
		case ch == '%':
			i++
			continue
		case isTime && strings.IndexByte("yMKztgH", ch) >= 0, isTime && (ch == ':' || ch == '.'):
			return "", false, nil
		case isTime && ch == 'd':
			out.WriteString(strings.Repeat("0", n))
		case isTime && ch == 'h': // hours of a time span go up to 24
			fmt.Fprintf(&out, "%0*d", min(n, 2), f.hour)
		default:
			if !f.write(&out, ch, n) {
				out.WriteString(format[i : i+n])
			}
		}
		i += n
	}
	return out.String(), true, nil
}

// clockFields is a date and time split into its parts, for FORMAT.
type clockFields struct {
	culture              *Culture
	besideDay            bool // the format has the day of the month, which changes the names of months
	days                 int64
	year, month, day     int
	hour, minute, second int
	fraction             int64
	offset               int // minutes; far below zero without an offset
}

// write prints n times the letter ch; false for an unknown letter.
func (c clockFields) write(out *strings.Builder, ch byte, n int) bool {
	two := func(v int) { fmt.Fprintf(out, "%0*d", min(n, 2), v) }
	switch ch {
	case 'd':
		c.writeDay(out, n)
	case 'M':
		switch {
		case n >= 4:
			out.WriteString(c.monthName())
		case n == 3:
			out.WriteString(c.culture.ShortMonths[c.month-1])
		default:
			two(c.month)
		}
	case 'y':
		if n <= 2 {
			two(c.year % 100)
		} else {
			fmt.Fprintf(out, "%0*d", n, c.year)
		}
	case 'h':
		h := c.hour % 12
		if h == 0 {
			h = 12
		}
		two(h)
	case 'H':
		two(c.hour)
	case 'm':
		two(c.minute)
	case 's':
		two(c.second)
	case 'f', 'F':
		s := fmt.Sprintf("%07d", c.fraction)[:min(n, 7)]
		if ch == 'F' {
			s = strings.TrimRight(s, "0")
		}
		out.WriteString(s)
	case 't':
		half := []rune(c.culture.AM)
		if c.hour >= 12 {
			half = []rune(c.culture.PM)
		}
		if n == 1 && len(half) > 1 {
			half = half[:1]
		}
		out.WriteString(string(half))
	case '/':
		out.WriteString(strings.Repeat(c.culture.DateMark, n))
	case 'z', 'K':
		c.zone(out, ch, n)
	case 'g':
		out.WriteString("A.D.")
	default:
		return false
	}
	return true
}

// monthName returns the name of the month. Behind a day some languages use the genitive.
func (c clockFields) monthName() string {
	if c.besideDay && c.culture.Genitive != nil {
		return c.culture.Genitive[c.month-1]
	}
	return c.culture.Months[c.month-1]
}

// namesDay reports whether a format has the day of the month: d or dd outside quotes.
func namesDay(format string) bool {
	for i := 0; i < len(format); i++ {
		switch c := format[i]; c {
		case '\\':
			i++
		case '\'', '"':
			if end := strings.IndexByte(format[i+1:], c); end >= 0 {
				i += end + 1
			}
		case 'd':
			n := len(format[i:]) - len(strings.TrimLeft(format[i:], "d"))
			if n <= 2 {
				return true
			}
			i += n - 1
		}
	}
	return false
}

// writeDay prints the day of the month or week.
func (c clockFields) writeDay(out *strings.Builder, n int) {
	day := types.Weekday(c.days)
	switch {
	case n >= 4:
		out.WriteString(c.culture.Days[day])
	case n == 3:
		out.WriteString(c.culture.ShortDays[day])
	default:
		fmt.Fprintf(out, "%0*d", n, c.day)
	}
}

// zone prints the offset: K and zzz as +hh:mm, zz as +hh, z as +h. Without an offset K prints
// nothing, and z prints that of UTC.
func (c clockFields) zone(out *strings.Builder, ch byte, n int) {
	offset := c.offset
	if offset < -1000 {
		if ch == 'K' {
			return
		}
		offset = 0
	}
	full := types.FormatOffset(offset)
	switch {
	case ch == 'K' || n >= 3:
		out.WriteString(full)
	case n == 2:
		out.WriteString(full[:3])
	default:
		out.WriteString(full[:1] + strings.TrimPrefix(full[1:3], "0"))
	}
}
