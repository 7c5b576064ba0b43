package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wordReader reads the words of a description. It shares no code with the package: it lists days
// and seconds, and searches the instants of a clock time among the offsets of the zone.
type wordReader struct {
	zone         *time.Location
	gap, overlap string
	from, until  time.Time
	once         []time.Time
	// elapsed time
	base    time.Time
	step    time.Duration
	offsets []time.Duration
	clock   []func(time.Time) bool // on the wall clock
	// clock times
	seconds   []int
	days      []func(time.Time) bool // midnight in UTC that stands for a date
	positions []int
	period    string
	weekStart time.Weekday
}

const wordInstant = `\w{3} \d+ \w{3} \d+ \d\d:\d\d(?::\d\d)?`

var (
	wordMonths   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	wordWeekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	wordLengths  = map[string]time.Duration{"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
)

func (r *wordReader) instant(text string) time.Time {
	layout := "Mon 2 Jan 2006 15:04"
	if strings.Count(text, ":") == 2 {
		layout += ":05"
	}
	civil, err := time.Parse(layout, text)
	if err != nil {
		panic(err)
	}
	if all := r.resolve(civil, "shift", "first"); len(all) > 0 {
		return all[0]
	}
	return time.Time{}
}

// resolve returns the instants of a clock time.
func (r *wordReader) resolve(civil time.Time, gap, overlap string) []time.Time {
	var found []time.Time
	_, before := civil.Add(-30 * time.Hour).In(r.zone).Zone()
	_, after := civil.Add(30 * time.Hour).In(r.zone).Zone()
	for _, offset := range []int{before, after} {
		at := civil.Add(-time.Duration(offset) * time.Second)
		if local := at.In(r.zone); local.Format(time.DateTime) == civil.Format(time.DateTime) && !slices.ContainsFunc(found, at.Equal) {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	switch {
	case len(found) == 2 && overlap == "first":
		return found[:1]
	case len(found) == 2 && overlap == "second":
		return found[1:]
	case len(found) > 0 || gap == "skip":
		return found
	case gap == "shift":
		return []time.Time{civil.Add(-time.Duration(before) * time.Second)}
	}
	// The end of the gap: the first instant with the offset after it.
	low, high := civil.Add(-30*time.Hour).Unix(), civil.Add(30*time.Hour).Unix()
	for low < high {
		middle := (low + high) / 2
		if _, offset := time.Unix(middle, 0).In(r.zone).Zone(); offset == before {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return []time.Time{time.Unix(low, 0).UTC()}
}

// between returns the first n instants after one instant and before another one.
func (r *wordReader) between(after, before time.Time, n int) []time.Time {
	list := slices.Clone(r.once)
	keep := func(at time.Time) {
		if at.After(after) && at.Before(before) && !at.Before(r.from) && (r.until.IsZero() || !at.After(r.until)) {
			list = append(list, at.UTC())
		}
	}
	switch {
	case r.step > 0:
		first := int64(0)
		if after.After(r.base) {
			first = (after.Unix()-r.base.Unix())/int64(r.step/time.Second) - 1
		}
		for k := max(0, first); len(list) < n; k++ {
			at := time.Unix(r.base.Unix()+k*int64(r.step/time.Second), 0)
			if !at.Before(before) {
				break
			}
			for _, o := range r.offsets {
				if local := at.Add(o).In(r.zone); all(r.clock, local) && all(r.days, time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)) {
					keep(at.Add(o))
				}
			}
		}
	case r.positions != nil:
		r.chosen(after, before, keep)
	case r.seconds != nil:
		// A change of clocks moves instants by less than a day, so that two more days are enough.
		more := 2
		for day := after.UTC().Truncate(24*time.Hour).AddDate(0, 0, -2); day.Before(before) && more > 0; day = day.AddDate(0, 0, 1) {
			if len(list) >= n {
				more--
			}
			if all(r.days, day) {
				r.listDay(day, keep)
			}
		}
	}
	out := []time.Time{}
	slices.SortFunc(list, time.Time.Compare)
	for _, at := range slices.CompactFunc(list, time.Time.Equal) {
		if at.After(after) && at.Before(before) && len(out) < n {
			out = append(out, at.UTC())
		}
	}
	return out
}

// listDay calls keep for the instants of one day.
func (r *wordReader) listDay(day time.Time, keep func(time.Time)) {
	_, before := day.Add(-54 * time.Hour).In(r.zone).Zone()
	_, after := day.Add(54 * time.Hour).In(r.zone).Zone()
	for _, s := range r.seconds {
		civil := day.Add(time.Duration(s) * time.Second)
		if before == after {
			keep(civil.Add(-time.Duration(before) * time.Second))
			continue
		}
		for _, at := range r.resolve(civil, r.gap, r.overlap) {
			keep(at)
		}
	}
}

// chosen calls keep for the instants at the positions of each period.
func (r *wordReader) chosen(after, before time.Time, keep func(time.Time)) {
	day := after.UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	begins := func(d time.Time) bool {
		return r.period == "week" && d.Weekday() == r.weekStart || r.period == "month" && d.Day() == 1 || r.period == "year" && d.YearDay() == 1
	}
	for !begins(day) {
		day = day.AddDate(0, 0, -1)
	}
	var period []time.Time
	for ; day.Before(before.AddDate(1, 0, 0)); day = day.AddDate(0, 0, 1) {
		if begins(day) {
			for i, civil := range period {
				if slices.Contains(r.positions, i+1) || slices.Contains(r.positions, i-len(period)) {
					for _, at := range r.resolve(civil, r.gap, r.overlap) {
						keep(at)
					}
				}
			}
			period = nil
		}
		if all(r.days, day) {
			for _, s := range r.seconds {
				period = append(period, day.Add(time.Duration(s)*time.Second))
			}
		}
	}
}

func all(conditions []func(time.Time) bool, at time.Time) bool {
	for _, c := range conditions {
		if !c(at) {
			return false
		}
	}
	return true
}

// cut removes a pattern from the beginning of a text and returns its groups; nil if it is absent.
func cut(text *string, pattern string) []string {
	m := regexp.MustCompile(`^(?:` + pattern + `)`).FindStringSubmatch(*text)
	if m != nil {
		*text = (*text)[len(m[0]):]
	}
	return m
}

func items(text string) []string {
	return strings.Split(regexp.MustCompile(` (and|or) `).ReplaceAllString(text, ", "), ", ")
}

func number(text string) int {
	n, _ := strconv.Atoi(strings.Trim(text, "sthndr:"))
	return n
}

// wordRange returns the values of "0 to 5, 7 and 20" and of names.
func wordRange(text string, names []string, first int) []int {
	value := func(s string) int {
		if i := slices.Index(names, s); i >= 0 {
			return i + first
		}
		return number(s)
	}
	var list []int
	for _, item := range items(text) {
		from, to, isRange := strings.Cut(item, " to ")
		if !isRange {
			to = from
		}
		for n := value(from); n <= value(to); n++ {
			list = append(list, n)
		}
	}
	return list
}

var wordOrdinals = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}

// wordNth reads "first", "20th", "last" and "second-to-last".
func wordNth(text string) int {
	if text == "last" {
		return -1
	}
	sign := 1
	if rest, ok := strings.CutSuffix(text, "-to-last"); ok {
		text, sign = rest, -1
	}
	if n := wordOrdinals[text]; n > 0 {
		return sign * n
	}
	return sign * number(text)
}

// readWords reads a description. The error says which form it does not know.
func readWords(d Description) (*wordReader, error) {
	r := &wordReader{gap: "skip", overlap: "both"}
	for text, gap := range map[string]string{"moved forward": "shift", "become one run": "at_end"} {
		if strings.Contains(d.Clocks, text) {
			r.gap = gap
		}
	}
	for text, overlap := range map[string]string{"the first time": "first", "the second time": "second"} {
		if strings.Contains(d.Clocks, text) {
			r.overlap = overlap
		}
	}
	clauses := strings.Split(d.Text, "; ")
	i := strings.LastIndex(clauses[0], ", ")
	body, zone := clauses[0][:i], clauses[0][i+2:]
	var err error
	if r.zone, err = time.LoadLocation(zone); err != nil {
		return nil, errors.New("zone")
	}
	for _, clause := range clauses[1:] {
		if from, ok := strings.CutPrefix(clause, "from "); ok {
			r.from = r.instant(from)
		} else if until, ok := strings.CutPrefix(clause, "until "); ok {
			r.until = r.instant(until)
		} else {
			return nil, errors.New("clause " + clause)
		}
	}
	if m := cut(&body, `Once, on (`+wordInstant+`)$`); m != nil {
		r.once = []time.Time{r.instant(m[1])}
		return r, nil
	}
	if m := cut(&body, `Only the (.*) of these times in each (\w+): `); m != nil {
		for _, p := range items(m[1]) {
			r.positions = append(r.positions, wordNth(p))
		}
		r.period = m[2]
		if m := regexp.MustCompile(` \(weeks begin on (\w+)\)$`).FindStringSubmatch(body); m != nil && r.period == "week" {
			r.weekStart = time.Weekday((slices.Index(wordWeekdays, m[1]) + 1) % 7)
			body = strings.TrimSuffix(body, m[0])
		}
		body = strings.ToUpper(body[:1]) + body[1:]
	}
	switch ok, err := r.readElapsed(&body); {
	case err != nil:
		return nil, err
	case !ok && !r.readTimes(&body):
		return nil, errors.New("times")
	}
	r.readDays(&body)
	if body != "" {
		return nil, fmt.Errorf("rest %q", regexp.MustCompile(`\d+`).ReplaceAllString(body, "N"))
	}
	return r, nil
}

func wordLength(text string) time.Duration {
	n, unit, ok := strings.Cut(text, " ")
	if !ok {
		n, unit = "1", text
	}
	return time.Duration(number(n)) * wordLengths[strings.TrimSuffix(unit, "s")]
}

// readElapsed reads elapsed time and its conditions on the clock.
func (r *wordReader) readElapsed(body *string) (bool, error) {
	if m := cut(body, `Every ([\w ]+), counted from (`+wordInstant+`)`); m != nil {
		r.step, r.base, r.offsets = wordLength(m[1]), r.instant(m[2]), []time.Duration{0}
	} else if m := cut(body, `([\w, :]+) after every ([\w ]+) counted from (`+wordInstant+`)`); m != nil {
		r.step, r.base = wordLength(m[2]), r.instant(m[3])
		for _, o := range items(m[1]) {
			if strings.Contains(o, ":") {
				r.offsets = append(r.offsets, time.Duration(clockSecond(o))*time.Second)
				continue
			}
			r.offsets = append(r.offsets, wordLength(o))
		}
	} else {
		return false, nil
	}
	if m := cut(body, `, only in (.*?) of the clock`); m != nil {
		for part := range strings.SplitSeq(m[1], " and in ") {
			name, values, _ := strings.Cut(part, " ")
			allowed := wordRange(values, nil, 0)
			r.clock = append(r.clock, func(at time.Time) bool {
				return slices.Contains(allowed, map[string]int{"h": at.Hour(), "m": at.Minute(), "s": at.Second()}[name[:1]])
			})
		}
	}
	cut(body, `, only`)
	return true, nil
}

func clockSecond(text string) int {
	s := 0
	for i, part := range strings.Split(text, ":") {
		s += number(part) * []int{3600, 60, 1}[i]
	}
	return s
}

// readTimes reads clock times.
func (r *wordReader) readTimes(body *string) bool {
	const clock = `\d\d:\d\d(?::\d\d)?`
	list := func(from, to, step int) bool {
		for s := from; s <= to; s += step {
			r.seconds = append(r.seconds, s)
		}
		return true
	}
	if m := cut(body, `At (`+clock+`(?:, `+clock+`)*(?: and `+clock+`)?)`); m != nil {
		for _, c := range items(m[1]) {
			r.seconds = append(r.seconds, clockSecond(c))
		}
		return true
	}
	if m := cut(body, `Every hour at (:\d\d)`); m != nil {
		return list(60*number(m[1]), 86399, 3600)
	}
	if m := cut(body, `Every (?:(\d+) )?(hour|minute)s? from (\d\d:\d\d) to (\d\d:\d\d)`); m != nil {
		return list(clockSecond(m[3]), clockSecond(m[4]), max(1, number(m[1]))*int(wordLengths[m[2]]/time.Second))
	}
	if m := cut(body, `Every (\d+) minutes \((:\d\d) to :\d\d\)`); m != nil {
		return list(60*number(m[2]), 86399, 60*number(m[1]))
	}
	if m := cut(body, `Every (\d+) seconds \(second (\d+) to \d+\)`); m != nil {
		return list(number(m[2]), 86399, number(m[1]))
	}
	unit := func(name string) string { return `(every ` + name + `|` + name + `s? [\d, toand]*\d)` }
	values := func(text string) []int {
		_, rest, _ := strings.Cut(text, " ")
		if strings.HasPrefix(text, "every") {
			return nil
		}
		return wordRange(rest, nil, 0)
	}
	*body = strings.ToLower((*body)[:1]) + (*body)[1:]
	cut(body, "at ")
	hours, minutes, seconds := []int(nil), []int(nil), []int{0}
	switch m := cut(body, unit("second")+" of "+unit("minute")+" of "+unit("hour")); {
	case m != nil:
		seconds, minutes, hours = values(m[1]), values(m[2]), values(m[3])
	default:
		if m := cut(body, unit("second")+" of every minute"); m != nil {
			seconds = values(m[1])
		} else if m := cut(body, unit("minute")+" of "+unit("hour")); m != nil {
			minutes, hours = values(m[1]), values(m[2])
		} else if cut(body, "every second") != nil {
			seconds = nil
		} else if cut(body, "every minute") == nil {
			return false
		}
	}
	in := func(list []int, n int) bool { return list == nil || slices.Contains(list, n) }
	for s := range 86400 {
		if in(hours, s/3600) && in(minutes, s/60%60) && in(seconds, s%60) {
			r.seconds = append(r.seconds, s)
		}
	}
	return true
}

func monthLength(d time.Time) int {
	return time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// wordDay returns the number of "the 15th", "the last day" or "the 3rd-to-last day" in a month or
// year of a length.
func wordDay(text string, length int) int {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "the "), " day")
	n := wordNth(text)
	if n < 0 {
		n += length + 1
	}
	return n
}

// monthDays returns the condition of a list of days of a month.
func monthDays(list string, orLast bool) func(time.Time) bool {
	return func(d time.Time) bool {
		length := monthLength(d)
		for _, item := range items(list) {
			step := 1
			if m := cut(&item, `every (\w+) day from `); m != nil {
				step = number(m[1])
			}
			if item == "the last day from Monday to Friday" {
				item = "the day from Monday to Friday nearest to the last day"
			}
			if near, ok := strings.CutPrefix(item, "the day from Monday to Friday nearest to "); ok {
				n := wordDay(near, length)
				best := 0
				for c := 1; c <= length; c++ {
					w := time.Date(d.Year(), d.Month(), c, 0, 0, 0, 0, time.UTC).Weekday()
					if w != time.Saturday && w != time.Sunday && (best == 0 || max(c-n, n-c) < max(best-n, n-best)) {
						best = c
					}
				}
				if n >= 1 && n <= length && d.Day() == best {
					return true
				}
				continue
			}
			from, to, isRange := strings.Cut(item, " to the ")
			if !isRange {
				to = from
			}
			a, b := wordDay(from, length), wordDay(to, length)
			if orLast {
				a, b = min(a, length), min(b, length)
			}
			for n := a; n <= b; n += step {
				if n == d.Day() {
					return true
				}
			}
		}
		return false
	}
}

// weekdays returns the condition of a list of weekdays: "Monday", "every Friday", "the first
// Monday".
func weekdays(list, period string) func(time.Time) bool {
	return func(d time.Time) bool {
		name := wordWeekdays[(int(d.Weekday())+6)%7]
		for _, item := range items(list) {
			item = strings.TrimPrefix(strings.TrimPrefix(item, "every "), "a ")
			if item == name {
				return true
			}
			if rest, ok := strings.CutPrefix(item, "the "); ok {
				n, day, _ := strings.Cut(rest, " ")
				at, length := d.Day(), monthLength(d)
				if period == "year" {
					at, length = d.YearDay(), time.Date(d.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
				}
				if want := wordNth(n); day == name && ((at-1)/7+1 == want || -((length-at)/7+1) == want) {
					return true
				}
			}
		}
		return false
	}
}

// readDays reads the conditions on days.
func (r *wordReader) readDays(body *string) {
	const name = `(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)`
	const weekday = `(?:every |a |the [\w-]+ )?` + name
	const weekdayList = `(` + weekday + `(?:, ` + weekday + `)*(?: (?:and|or) ` + weekday + `)?)(?: of the (month|year))?`
	add := func(c func(time.Time) bool) { r.days = append(r.days, c) }
	readWeekdays := func() func(time.Time) bool {
		if m := cut(body, ` ?on (`+name+`) to (`+name+`)`); m != nil {
			allowed := wordRange(m[1]+" to "+m[2], wordWeekdays, 0)
			return func(d time.Time) bool { return slices.Contains(allowed, (int(d.Weekday())+6)%7) }
		}
		if m := cut(body, ` ?(?:on )?`+weekdayList); m != nil {
			return weekdays(m[1], m[2])
		}
		return nil
	}
	cut(body, " every day")
	if m := cut(body, ` on ((?:the|every) (?:[^;]*?)) of the month( \(the last day of a shorter month\))?`); m != nil && !regexp.MustCompile(`(every|the [\w-]+) `+name+`( |$|,)`).MatchString(strings.NewReplacer("day from Monday to Friday", "").Replace(m[1])) {
		days := monthDays(m[1], m[2] != "")
		switch {
		case cut(body, " if it is") != nil:
			add(days)
			add(readWeekdays())
		case cut(body, ", or ") != nil:
			other := readWeekdays()
			add(func(d time.Time) bool { return days(d) || other(d) })
		default:
			add(days)
		}
	} else {
		if m != nil {
			*body = m[0] + *body
		}
		if c := readWeekdays(); c != nil {
			add(c)
		}
	}
	if m := cut(body, ` on ([^;]*? day(?:, [^;]*? day| and [^;]*? day)*) of the year`); m != nil {
		add(func(d time.Time) bool {
			length := time.Date(d.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
			return slices.ContainsFunc(items(m[1]), func(item string) bool { return wordDay(item, length) == d.YearDay() })
		})
	}
	r.readWeeks(body, add)
	const month = `(?:January|February|March|April|May|June|July|August|September|October|November|December)`
	if m := cut(body, ` in (`+month+`(?:(?:, | and | to )`+month+`)*)`); m != nil {
		allowed := wordRange(m[1], wordMonths, 1)
		add(func(d time.Time) bool { return slices.Contains(allowed, int(d.Month())) })
	}
	if m := cut(body, `, only in ((?:years divisible by \d+|\d{4})(?:(?:, | and | to )(?:years divisible by \d+|\d{4}))*)`); m != nil {
		add(func(d time.Time) bool {
			return slices.ContainsFunc(items(m[1]), func(item string) bool {
				if n, ok := strings.CutPrefix(item, "years divisible by "); ok {
					return d.Year()%number(n) == 0
				}
				return slices.Contains(wordRange(item, nil, 0), d.Year())
			})
		})
	}
	r.readEvery(body, add)
}

// readWeeks reads numbers of weeks.
func (r *wordReader) readWeeks(body *string, add func(func(time.Time) bool)) {
	m := cut(body, ` in week (.*?) of the year \(weeks begin on (\w+)\)`)
	if m == nil {
		return
	}
	start := time.Weekday((slices.Index(wordWeekdays, m[2]) + 1) % 7)
	add(func(d time.Time) bool {
		// The middle of the week decides about its year.
		first := d.AddDate(0, 0, -(int(d.Weekday()-start)+7)%7)
		year := first.AddDate(0, 0, 3).Year()
		week := (first.AddDate(0, 0, 3).YearDay()-1)/7 + 1
		last := 52
		for w := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC); w.Day() >= 28; w = w.AddDate(0, 0, -1) {
			if w.Weekday() == (start+3)%7 {
				last = (w.YearDay()-1)/7 + 1
				break
			}
		}
		return slices.ContainsFunc(items(m[1]), func(item string) bool {
			n := wordNth(strings.TrimPrefix(item, "the "))
			return n == week || n == week-last-1
		})
	})
}

// readEvery reads the distance of periods.
func (r *wordReader) readEvery(body *string, add func(func(time.Time) bool)) {
	m := cut(body, `, every (\d+) (day|week|month|year)s counted from (?:the week of )?((?:\w{3} \d+ \w{3} )?(?:\w+ )?\d+)`)
	if m == nil {
		return
	}
	n := number(m[1])
	layout := map[string]string{"day": "Mon 2 Jan 2006", "week": "Mon 2 Jan 2006", "month": "January 2006", "year": "2006"}[m[2]]
	from, err := time.Parse(layout, m[3])
	if err != nil {
		panic(err)
	}
	add(func(d time.Time) bool {
		days := int(d.Sub(from) / (24 * time.Hour))
		passed := map[string]int{
			"day": days, "week": (days+7000)/7 - 1000,
			"month": (d.Year()-from.Year())*12 + int(d.Month()-from.Month()), "year": d.Year() - from.Year(),
		}[m[2]]
		return passed >= 0 && passed%n == 0
	})
}
