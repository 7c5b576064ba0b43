package importer

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// robfigLine is a schedule of github.com/robfig/cron/v3 as Kubernetes reads it (ParseStandard):
// five fields, or an interval.
type robfigLine struct {
	// zone is what TZ= or CRON_TZ= names; empty for none.
	zone   string
	fields [5]robfigField
	// nickname is a word such as @daily, of which the fields are set too.
	nickname string
	// every is the interval of @every; 0 for a schedule with fields.
	every time.Duration
}

// robfigField is one field.
type robfigField struct {
	text string
	// set has a bit for each value. star means that an item is * or ?, without a step.
	set  uint64
	star bool
}

// robfigBounds are the lowest and highest values of the fields. Sunday is only 0.
var robfigBounds = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

var fieldNames = [5]string{"minute", "hour", "dayOfMonth", "month", "dayOfWeek"}

// cronNames are the values of names, by field.
var cronNames = [5]map[string]int{
	3: {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12},
	4: {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6},
}

// robfigNicknames are the words of robfig/cron.
var robfigNicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// readRobfig parses a schedule. The error names the part and quotes nothing.
func readRobfig(text string) (l robfigLine, err error) {
	for _, prefix := range []string{"TZ=", "CRON_TZ="} {
		if rest, found := strings.CutPrefix(text, prefix); found {
			if l.zone, text, found = strings.Cut(rest, " "); !found {
				return l, errors.New("a schedule behind the zone")
			}
			text = strings.TrimSpace(text)
			break
		}
	}
	if after, found := strings.CutPrefix(text, "@every "); found {
		every, err := time.ParseDuration(after)
		if err != nil {
			return l, errors.New("a duration such as 1h30m behind @every")
		}
		l.every = max(every, time.Second).Truncate(time.Second)
		return l, nil
	}
	if strings.HasPrefix(text, "@") {
		line, known := robfigNicknames[text]
		if !known {
			return l, errors.New("@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every with a duration")
		}
		l.nickname, text = text, line
	}
	fields := strings.Fields(text)
	if len(fields) != len(l.fields) {
		return l, fmt.Errorf("five fields, minute hour dayOfMonth month dayOfWeek; there are %d", len(fields))
	}
	for i, field := range fields {
		l.fields[i].text = field
		for item := range strings.FieldsFuncSeq(field, func(r rune) bool { return r == ',' }) {
			if !l.fields[i].add(item, robfigBounds[i], cronNames[i]) {
				return l, fmt.Errorf("values from %d to %d in the field %s", robfigBounds[i][0], robfigBounds[i][1], fieldNames[i])
			}
		}
	}
	return l, nil
}

// add adds an item of a list: *, ?, a or a-b, each also with /step. a/step goes up to the highest
// value. What follows a star and a hyphen does not count.
func (f *robfigField) add(item string, bounds [2]int, names map[string]int) bool {
	body, stepText, stepped := strings.Cut(item, "/")
	from, to, ranged := strings.Cut(body, "-")
	low, high, step := bounds[0], bounds[1], 1
	star := from == "*" || from == "?"
	var ok bool
	if !star {
		if low, ok = robfigValue(from, names); !ok {
			return false
		}
		high = low
		if ranged {
			if high, ok = robfigValue(to, names); !ok {
				return false
			}
		}
	}
	if stepped {
		if step, ok = robfigValue(stepText, nil); !ok || step == 0 {
			return false
		}
		if !ranged {
			high = bounds[1]
		}
	}
	if low < bounds[0] || high > bounds[1] || low > high {
		return false
	}
	f.star = f.star || star && step == 1
	for v := low; v <= high; v += step {
		f.set |= 1 << v
	}
	return true
}

// robfigValue reads a name or a number.
func robfigValue(text string, names map[string]int) (int, bool) {
	if n, known := names[strings.ToLower(text)]; known {
		return n, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < 1<<30
}

// plainItem matches the items that mean the same to cron5.
var plainItem = regexp.MustCompile(`^(?:\*|(?:\d\d?|[A-Za-z]{3})(?:-(?:\d\d?|[A-Za-z]{3}))?)$|^(?:\*|(?:\d\d?|[A-Za-z]{3})-(?:\d\d?|[A-Za-z]{3}))/(\d\d?)$`)

// cron5 returns the line in the dialect cron5, and whether it was changed. The lines have the
// same days: to both, a day must fulfil both day fields if one of them is unrestricted, and else
// one of them. To cron5 a field is unrestricted if it begins with a star; to robfig/cron, if one
// of its items is a star without a step.
func (l *robfigLine) cron5() (line string, changed bool) {
	if l.nickname != "" {
		return l.nickname, false
	}
	var fields []string
	for i := range l.fields {
		f := &l.fields[i]
		text := f.text
		plain := true
		for item := range strings.SplitSeq(text, ",") {
			m := plainItem.FindStringSubmatch(item)
			step := 1
			if m != nil && m[1] != "" {
				step, _ = strconv.Atoi(m[1]) // two digits
			}
			plain = plain && m != nil && step <= robfigBounds[i][1]
		}
		isDay := i == 2 || i == 4
		if !plain || isDay && f.star != (text[0] == '*') {
			text, changed = f.list(), true
		}
		fields = append(fields, text)
	}
	return strings.Join(fields, " "), changed
}

// list returns the values of a field: a star, or numbers and ranges, of which the first is no
// star.
func (f *robfigField) list() string {
	if f.star {
		return "*"
	}
	var values []int
	for set := f.set; set != 0; set &= set - 1 {
		values = append(values, bits.TrailingZeros64(set))
	}
	var items []string
	for len(values) > 0 {
		n, step := 1, 1
		if len(values) > 1 {
			step = values[1] - values[0]
			for n < len(values) && values[n]-values[n-1] == step {
				n++
			}
		}
		switch {
		case n < 3:
			n = 1
			items = append(items, strconv.Itoa(values[0]))
		case step == 1:
			items = append(items, fmt.Sprintf("%d-%d", values[0], values[n-1]))
		default:
			items = append(items, fmt.Sprintf("%d-%d/%d", values[0], values[n-1], step))
		}
		values = values[n:]
	}
	if len(items) == 0 {
		return "," // no value: cron5 refuses it
	}
	return strings.Join(items, ",")
}

// gaps returns the shortest and the longest time between two instants, as a clock without changes
// shows it. ok is false if there are not two instants within 28 years, after which the calendar
// repeats.
func (l *robfigLine) gaps() (shortest, longest time.Duration, ok bool) {
	if l.every > 0 {
		return l.every, l.every, true
	}
	var first, last time.Duration = -1, -1 // times of day
	shortest = 1 << 62
	for hour := range 24 {
		for minute := range 60 {
			if l.fields[1].set>>hour&1 == 0 || l.fields[0].set>>minute&1 == 0 {
				continue
			}
			at := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
			if last >= 0 {
				shortest, longest = min(shortest, at-last), max(longest, at-last)
			} else {
				first = at
			}
			last = at
		}
	}
	if first < 0 {
		return 0, 0, false
	}
	const day = 24 * time.Hour
	before := time.Duration(-1) // the last day that matched
	for n := range 28*365 + 7 {
		date := time.Date(2001, 1, 1+n, 0, 0, 0, 0, time.UTC)
		if !l.matches(date) {
			continue
		}
		at := time.Duration(n) * day
		if before >= 0 {
			gap := at + first - before - last
			shortest, longest, ok = min(shortest, gap), max(longest, gap), true
		}
		before = at
	}
	return shortest, longest, ok
}

// matches reports whether the schedule has instants on a day.
func (l *robfigLine) matches(date time.Time) bool {
	has := func(i, value int) bool { return l.fields[i].set>>value&1 != 0 }
	day, weekday := has(2, date.Day()), has(4, int(date.Weekday()))
	match := day && weekday
	if !l.fields[2].star && !l.fields[4].star {
		match = day || weekday
	}
	return match && has(3, int(date.Month()))
}
