package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// wordReader reads the words of a description. It shares no code with the package: it lists days
// and seconds, and searches the instants of a clock time among the offsets of the zone.
type wordReader struct {
	zone         *time.Location
	gap, overlap string
	from, until  time.Time
	once         []time.Time // further instants
	without      []time.Time
	ends         time.Time // of the rule alone
	runs         int       // of the rule alone; 0: no limit
	nothing      bool      // there is no rule beside once
	base         time.Time // of steps; a clock time if onClock
	step         time.Duration
	offsets      []time.Duration
	onClock      bool
	hours        []int // of steps on the clock; nil: all
	clock        []func(h, m, s int) bool
	seconds      []int                  // clock times
	days         []func(time.Time) bool // midnight in UTC that stands for a date
	positions    []int
	period       string
	weekStart    time.Weekday
	shorter      bool // the last day replaces a day that a month does not have
}

const (
	wordInstant  = `\w{3} \d+ \w{3} \d+ \d\d:\d\d(?::\d\d)?(?: [+-]\d\d:\d\d)?`
	wordInstants = wordInstant + `(?:(?:, | and )` + wordInstant + `)*`
	wordClock    = `\d\d:\d\d(?::\d\d)?`
	wordMonth    = `(?:January|February|March|April|May|June|July|August|September|October|November|December)`
	wordMonthSet = wordMonth + `(?:(?:, | and | to )` + wordMonth + `)*`
	wordYear     = `(?:years divisible by \d+|every \w+ year from \d{4} to \d{4}|\d{4})`
	wordYears    = wordYear + `(?:(?:, | and | to )` + wordYear + `)*`
	wordWeekday  = `(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)`
	wordOrdinal  = `(?:[a-z]+|\d+(?:st|nd|rd|th))(?:-to-last)?`
	wordOneDay   = `the (?:working day nearest to the |day before the |\d+\w\w day before the )?` + wordOrdinal + `(?: working day| weekend day| day| ` + wordWeekday + `)?`
	wordItem     = `(?:every \w+ day from ` + wordOneDay + ` to ` + wordOneDay + `|` + wordOneDay + `(?: to ` + wordOneDay + `)?|(?:a |from |every )?` + wordWeekday + `(?: to ` + wordWeekday + `)?)`
	wordOf       = `(?: of (the month|the year|` + wordMonth + `(?:(?:, | and )` + wordMonth + `)*))?`
)

var (
	wordMonths   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	wordWeekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	wordLengths  = map[string]time.Duration{"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
	wordPatterns sync.Map
)

func wordPattern(pattern string) *regexp.Regexp {
	if re, ok := wordPatterns.Load(pattern); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(pattern)
	wordPatterns.Store(pattern, re)
	return re
}

// cut removes a pattern from the beginning of a text and returns its groups; nil if it is absent.
func cut(text *string, pattern string) []string {
	m := wordPattern(`^(?:` + pattern + `)`).FindStringSubmatch(*text)
	if m != nil {
		*text = (*text)[len(m[0]):]
	}
	return m
}

// cutEnd removes a pattern from the end of a text.
func cutEnd(text *string, pattern string) []string {
	m := wordPattern(`(?:` + pattern + `)$`).FindStringSubmatch(*text)
	if m != nil {
		*text = strings.TrimSuffix(*text, m[0])
	}
	return m
}

func items(text string) []string {
	return strings.Split(wordPattern(`,? (and|or) `).ReplaceAllString(text, ", "), ", ")
}

func number(text string) int {
	n, _ := strconv.Atoi(strings.Trim(text, "sthndr:"))
	return n
}

// wordRange returns the values of "0 to 5, 7 and 20", "every 7th minute from 0 to 56" and of names,
// whose ranges may go on with the first name.
func wordRange(text string, names []string, first int) []int {
	value := func(s string) int {
		if i := slices.Index(names, s); i >= 0 {
			return i + first
		}
		return number(s)
	}
	var list []int
	for _, item := range items(text) {
		step := 1
		if m := cut(&item, `every (\w+) \w+ from `); m != nil {
			step = number(m[1])
		}
		from, to, isRange := strings.Cut(item, " to ")
		if !isRange {
			to = from
		}
		last := value(to)
		if last < value(from) {
			last += len(names)
		}
		for n := value(from); n <= last; n += step {
			if names == nil {
				list = append(list, n)
			} else {
				list = append(list, (n-first)%len(names)+first)
			}
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

func wordLength(text string) time.Duration {
	n, unit, ok := strings.Cut(text, " ")
	if !ok {
		n, unit = "1", text
	}
	return time.Duration(number(n)) * wordLengths[strings.TrimSuffix(unit, "s")]
}

func clockSecond(text string) int {
	s := 0
	for i, part := range strings.Split(text, ":") {
		s += number(part) * []int{3600, 60, 1}[i]
	}
	return s
}

// wordCivil reads an instant as a clock time, in UTC.
func wordCivil(text string) time.Time {
	layout := "Mon 2 Jan 2006 15:04"
	if strings.Count(text, ":") == 2 {
		layout += ":05"
	}
	civil, err := time.Parse(layout, text)
	if err != nil {
		panic(err)
	}
	return civil
}

func (r *wordReader) instant(text string) time.Time {
	if i := strings.LastIndexAny(text, "+-"); i > 0 { // a clock time that occurs twice
		offset, err := time.Parse("-07:00", text[i:])
		if err != nil {
			panic(err)
		}
		_, seconds := offset.Zone()
		return wordCivil(text[:i-1]).Add(-time.Duration(seconds) * time.Second)
	}
	if all := r.resolve(wordCivil(text), "shift", "first"); len(all) > 0 {
		return all[0]
	}
	return time.Time{}
}

func (r *wordReader) instants(text string) []time.Time {
	var list []time.Time
	for _, one := range items(text) {
		list = append(list, r.instant(one))
	}
	return list
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
		} else if m := wordPattern(`^(\d+) runs?$`).FindStringSubmatch(clause); m != nil {
			r.runs = number(m[1])
		} else if !strings.HasPrefix(clause, "each run starts up to ") {
			return nil, errors.New("clause " + clause)
		}
	}
	if m := cut(&body, `(?:On these dates: |Once, on )(`+wordInstants+`)$`); m != nil {
		r.once, r.nothing = r.instants(m[1]), true
		return r, nil
	}
	if m := cutEnd(&body, `, but not on (`+wordInstants+`)`); m != nil {
		r.without = r.instants(m[1])
	}
	if m := cutEnd(&body, `, and (?:also|once) on (`+wordInstants+`)`); m != nil {
		r.once = r.instants(m[1])
	}
	if m := cutEnd(&body, `, ending after (\d+) instants?`); m != nil {
		r.runs = number(m[1])
	}
	if m := cutEnd(&body, `, ending with (`+wordInstant+`)`); m != nil {
		r.ends = r.instant(m[1])
	}
	r.readHead(&body)
	switch ok := r.readSteps(&body); {
	case !ok && !r.readTimes(&body):
		return nil, errors.New("times " + wordPattern(`\d+`).ReplaceAllString(body, "N"))
	}
	if err := r.readDays(&body); err != nil {
		return nil, err
	}
	if body != "" {
		return nil, fmt.Errorf("rest %q", wordPattern(`\d+`).ReplaceAllString(body, "N"))
	}
	return r, nil
}

// readHead reads what stands before a sentence.
func (r *wordReader) readHead(body *string) {
	if m := cut(body, `Only the (.*) of these times in each (\w+): `); m != nil {
		for _, p := range items(m[1]) {
			r.positions = append(r.positions, wordNth(p))
		}
		r.period, r.weekStart = m[2], time.Monday
		if m[2] == "week" {
			if m := cutEnd(body, ` \(weeks begin on (\w+)\)`); m != nil {
				r.weekStart = time.Weekday((slices.Index(wordWeekdays, m[1]) + 1) % 7)
			}
		}
	}
	if m := cut(body, `In (`+wordMonthSet+`)(?:, only in (`+wordYears+`))?: `); m != nil {
		r.addMonths(m[1])
		if m[2] != "" {
			r.addYears(m[2])
		}
	}
	if m := cut(body, `Only in (`+wordYears+`): `); m != nil {
		r.addYears(m[1])
	}
	*body = strings.ToUpper((*body)[:1]) + (*body)[1:]
}

// readSteps reads steps of elapsed time or of the clock, and their conditions.
func (r *wordReader) readSteps(body *string) bool {
	m := cut(body, `Every ([\w ]+?)( on the clock)?, counted from (`+wordInstant+`)`)
	if m == nil {
		return false
	}
	r.step, r.onClock, r.offsets = wordLength(m[1]), m[2] != "", []time.Duration{0}
	if r.onClock {
		r.base = wordCivil(m[3])
	} else {
		r.base = r.instant(m[3])
	}
	if m := cut(body, `, each time ([\w ]+(?:(?:, | and )[\w ]+)*) later`); m != nil {
		r.offsets = nil
		for _, text := range items(m[1]) {
			words := strings.Fields(text)
			o := wordLength(words[0] + " " + words[1])
			if len(words) == 4 {
				o += wordLength(words[2] + " " + words[3])
			}
			r.offsets = append(r.offsets, o)
		}
	}
	if m := cut(body, `, only in (.*?) of the clock`); m != nil {
		for part := range strings.SplitSeq(m[1], " and in ") {
			unit := wordPattern(`hour|minute|second`).FindString(part)
			allowed := wordRange(wordPattern(`^(?:hour|minute|second)s? `).ReplaceAllString(part, ""), nil, 0)
			if unit == "hour" {
				r.hours = allowed
			}
			r.clock = append(r.clock, func(h, m, s int) bool {
				return slices.Contains(allowed, map[string]int{"hour": h, "minute": m, "second": s}[unit])
			})
		}
	}
	cut(body, `, only`)
	return true
}

// readTimes reads clock times.
func (r *wordReader) readTimes(body *string) bool {
	const run = `every ([\w ]+) from (` + wordClock + `) to (` + wordClock + `)`
	const runs = `every [\w ]+ from ` + wordClock + ` to ` + wordClock
	list := func(from, to, step int) {
		for s := from; s <= to; s += step {
			r.seconds = append(r.seconds, s)
		}
	}
	readRuns := func(text string) {
		for _, one := range wordPattern(run).FindAllStringSubmatch(text, -1) {
			list(clockSecond(one[2]), clockSecond(one[3]), int(wordLength(one[1])/time.Second))
		}
	}
	defer func() { slices.Sort(r.seconds) }()
	const clocks = wordClock + `(?:, ` + wordClock + `)*(?: and ` + wordClock + `)?`
	if m := cut(body, `At (`+clocks+`)(?:, and (`+runs+`(?:(?:, | and )`+runs+`)*))?`); m != nil {
		for _, c := range items(m[1]) {
			r.seconds = append(r.seconds, clockSecond(c))
		}
		readRuns(m[2])
		return true
	}
	if m := cut(body, `Every hour at (:\d\d)`); m != nil {
		list(60*number(m[1]), 86399, 3600)
		return true
	}
	if m := cut(body, `Every ([\w ]+) from `+wordClock+` to `+wordClock+`(?:(?:, | and )(?:every [\w ]+ )?from `+wordClock+` to `+wordClock+`)*(?:, and at (`+clocks+`))?`); m != nil {
		unit := ""
		for _, one := range wordPattern(`(?:[Ee]very ([\w ]+) )?from (`+wordClock+`) to (`+wordClock+`)`).FindAllStringSubmatch(m[0], -1) {
			if one[1] != "" {
				unit = one[1]
			}
			list(clockSecond(one[2]), clockSecond(one[3]), int(wordLength(unit)/time.Second))
		}
		if m[2] != "" {
			for _, c := range items(m[2]) {
				r.seconds = append(r.seconds, clockSecond(c))
			}
		}
		return true
	}
	if m := cut(body, `Every (\d+ )(minute|second)s`); m != nil {
		list(0, 86399, int(wordLength(m[1]+m[2])/time.Second))
		return true
	}
	return r.readUnits(body)
}

// readUnits reads "At second 5 of minutes 1 and 2 of every hour".
func (r *wordReader) readUnits(body *string) bool {
	unit := func(name string) string {
		return `(every ` + name + `|every \w+ ` + name + ` from \d+ to \d+|` + name + `s? \d[\d, toand]*\d|` + name + ` \d)`
	}
	values := func(text string) []int {
		if wordPattern(`^every \w+$`).MatchString(text) {
			return nil
		}
		return wordRange(wordPattern(`^(?:hour|minute|second)s? `).ReplaceAllString(text, ""), nil, 0)
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
	for h := range 24 {
		for m := range 60 {
			for s := range 60 {
				if in(hours, h) && in(minutes, m) && in(seconds, s) {
					r.seconds = append(r.seconds, h*3600+m*60+s)
				}
			}
		}
	}
	return true
}

func monthLength(d time.Time) int {
	return time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func isWorking(d time.Time) bool {
	return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday
}

// wordPlace returns the place of a day among those of its month or year that a condition accepts,
// from the first and, negative, from the last; 0 if the condition does not accept it.
func wordPlace(d time.Time, year bool, accepts func(time.Time) bool) (first, last int) {
	if !accepts(d) {
		return 0, 0
	}
	same := func(o time.Time) bool { return o.Year() == d.Year() && (year || o.Month() == d.Month()) }
	for o := d; same(o); o = o.AddDate(0, 0, -1) {
		if accepts(o) {
			first++
		}
	}
	for o := d; same(o); o = o.AddDate(0, 0, 1) {
		if accepts(o) {
			last--
		}
	}
	return first, last
}

// readDay returns the condition of one day, and its number in a month or year for a range: "the
// 15th", "the last day", "the 2nd working day", "the working day nearest to the 15th".
func (r *wordReader) readDay(text string, year bool) (is func(time.Time) bool, at func(d time.Time) int) {
	m := wordPattern(`^the (working day nearest to the |day before the |\d+\w\w day before the )?(` + wordOrdinal + `)(?: (working day|weekend day|day|` + wordWeekday + `))?$`).FindStringSubmatch(text)
	n := wordNth(m[2])
	length := func(d time.Time) int {
		if year {
			return time.Date(d.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
		}
		return monthLength(d)
	}
	at = func(d time.Time) int {
		if n < 0 {
			return n + length(d) + 1
		}
		if r.shorter {
			return min(n, length(d))
		}
		return n
	}
	day := func(d time.Time) int {
		if year {
			return d.YearDay()
		}
		return d.Day()
	}
	nthOf := func(accepts func(time.Time) bool) func(time.Time) bool {
		return func(d time.Time) bool {
			first, last := wordPlace(d, year, accepts)
			return first > 0 && (first == n || last == n)
		}
	}
	switch i := slices.Index(wordWeekdays, m[3]); {
	case strings.HasSuffix(m[1], "day before the "):
		last := nthOf(isWorking)
		return func(d time.Time) bool {
			later := d.AddDate(0, 0, max(1, number(strings.Fields(m[1])[0])))
			return later.Month() == d.Month() && last(later)
		}, at
	case i >= 0:
		return nthOf(func(d time.Time) bool { return d.Weekday() == time.Weekday((i+1)%7) }), at
	case m[3] == "working day":
		return nthOf(isWorking), at
	case m[3] == "weekend day":
		return nthOf(func(d time.Time) bool { return !isWorking(d) }), at
	case m[1] != "":
		return func(d time.Time) bool {
			want := at(d)
			if want < 1 || want > length(d) {
				return false
			}
			best := 0
			for c := 1; c <= length(d); c++ {
				if isWorking(time.Date(d.Year(), d.Month(), c, 0, 0, 0, 0, time.UTC)) && (best == 0 || max(c-want, want-c) < max(best-want, want-best)) {
					best = c
				}
			}
			return d.Day() == best
		}, at
	}
	return func(d time.Time) bool { return day(d) == at(d) }, at
}

// readItem returns the condition of one item of a list of days.
func (r *wordReader) readItem(item string, year bool) func(time.Time) bool {
	step := 1
	stepped := cut(&item, `every (\w+) day from `)
	if stepped != nil {
		step = number(stepped[1])
	}
	if names := wordPattern(`^(?:a |from |every )?(` + wordWeekday + `(?: to ` + wordWeekday + `)?)$`).FindStringSubmatch(item); names != nil {
		allowed := wordRange(names[1], wordWeekdays, 0)
		return func(d time.Time) bool { return slices.Contains(allowed, (int(d.Weekday())+6)%7) }
	}
	from, to, isRange := strings.Cut(item, " to the ")
	if nearest := strings.HasPrefix(item, "the working day nearest to "); !isRange || nearest {
		is, _ := r.readDay(item, year)
		return is
	}
	_, first := r.readDay(from, year)
	_, last := r.readDay("the "+to, year)
	return func(d time.Time) bool {
		for n := first(d); n <= last(d); n += step {
			if n == d.Day() {
				return true
			}
		}
		return false
	}
}

// readList returns the condition of a list of days, and the months that it names.
func (r *wordReader) readList(list, of string) func(time.Time) bool {
	var either []func(time.Time) bool
	for _, item := range items(list) {
		either = append(either, r.readItem(item, of == "the year"))
	}
	var months []int
	if of != "" && !strings.HasPrefix(of, "the ") {
		months = wordRange(of, wordMonths, 1)
	}
	return func(d time.Time) bool {
		if months != nil && !slices.Contains(months, int(d.Month())) {
			return false
		}
		return slices.ContainsFunc(either, func(c func(time.Time) bool) bool { return c(d) })
	}
}

// readDays reads the conditions on days.
func (r *wordReader) readDays(body *string) error {
	r.shorter = strings.Contains(*body, " (the last day of a shorter month)")
	*body = strings.Replace(*body, " (the last day of a shorter month)", "", 1)
	cut(body, " every day")
	const and, or = `(` + wordItem + `(?:(?:, | and )` + wordItem + `)*)` + wordOf, `(` + wordItem + `(?:(?:, | or )` + wordItem + `)*)` + wordOf
	if m := cut(body, ` on `+and); m != nil {
		days := r.readList(m[1], m[2])
		if other := cut(body, `, or on `+and); other != nil {
			second := r.readList(other[1], other[2])
			r.days = append(r.days, func(d time.Time) bool { return days(d) || second(d) })
		} else {
			r.days = append(r.days, days)
		}
		if m := cut(body, ` in (`+wordMonthSet+`)`); m != nil {
			r.addMonths(m[1])
		}
		for _, before := range []string{` if it is `, ` and `} {
			if m := cut(body, before+or); m != nil {
				r.days = append(r.days, r.readList(m[1], m[2]))
			}
		}
	}
	r.readWeeks(body)
	if m := cut(body, ` in (`+wordMonthSet+`)`); m != nil {
		r.addMonths(m[1])
	}
	if m := cut(body, `, only in (`+wordYears+`)`); m != nil {
		r.addYears(m[1])
	}
	r.readEvery(body)
	return nil
}

func (r *wordReader) addMonths(text string) {
	allowed := wordRange(text, wordMonths, 1)
	r.days = append(r.days, func(d time.Time) bool { return slices.Contains(allowed, int(d.Month())) })
}

func (r *wordReader) addYears(text string) {
	var years, divisors []int
	for _, item := range items(text) {
		if n, ok := strings.CutPrefix(item, "years divisible by "); ok {
			divisors = append(divisors, number(n))
			continue
		}
		years = append(years, wordRange(item, nil, 0)...)
	}
	r.days = append(r.days, func(d time.Time) bool {
		return slices.Contains(years, d.Year()) || slices.ContainsFunc(divisors, func(n int) bool { return d.Year()%n == 0 })
	})
}

// readWeeks reads numbers of weeks.
func (r *wordReader) readWeeks(body *string) {
	m := cut(body, ` in ((?:week \d+|the [\w-]+ week)(?:(?:, | and )(?:week \d+|the [\w-]+ week))*) of the year(?: \(weeks begin on (\w+)\))?`)
	if m == nil {
		return
	}
	start := time.Monday
	if m[2] != "" {
		start = time.Weekday((slices.Index(wordWeekdays, m[2]) + 1) % 7)
	}
	var weeks []int
	for _, item := range items(m[1]) {
		weeks = append(weeks, wordNth(strings.Trim(strings.NewReplacer("the ", "", "week", "").Replace(item), " ")))
	}
	r.days = append(r.days, func(d time.Time) bool {
		// The middle of the week decides about its year.
		middle := d.AddDate(0, 0, -(int(d.Weekday()-start)+7)%7+3)
		week, last := (middle.YearDay()-1)/7+1, 52
		for w := time.Date(middle.Year(), 12, 31, 0, 0, 0, 0, time.UTC); w.Day() >= 25; w = w.AddDate(0, 0, -1) {
			if w.Weekday() == (start+3)%7 {
				last = (w.YearDay()-1)/7 + 1
				break
			}
		}
		return slices.Contains(weeks, week) || slices.Contains(weeks, week-last-1)
	})
}

// readEvery reads the distance of periods.
func (r *wordReader) readEvery(body *string) {
	m := cut(body, `, every (\d+) (day|week|month|year)s counted from (?:the week of )?((?:\w{3} \d+ \w{3} )?(?:[A-Z]\w+ )?\d+)`)
	if m == nil {
		return
	}
	n := number(m[1])
	layout := map[string]string{"day": "Mon 2 Jan 2006", "week": "Mon 2 Jan 2006", "month": "January 2006", "year": "2006"}[m[2]]
	from, err := time.Parse(layout, m[3])
	if err != nil {
		panic(err)
	}
	if m[2] == "day" && r.base.IsZero() {
		r.base = from
	}
	r.days = append(r.days, func(d time.Time) bool {
		days := int(d.Sub(from) / (24 * time.Hour))
		passed := map[string]int{
			"day": days, "week": (days+7000000)/7 - 1000000,
			"month": (d.Year()-from.Year())*12 + int(d.Month()-from.Month()), "year": d.Year() - from.Year(),
		}[m[2]]
		return passed >= 0 && passed%n == 0
	})
}
