package schedule

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proposeTexts is the number of mutated texts of each kind.
var proposeTexts = flag.Int("propose.texts", 600, "number of mutated texts of each kind whose proposals are put in place")

// TestProposals mutates valid texts of all kinds, puts each proposal in its place, and checks that
// the result is accepted and that it means what the text meant before, or what the mutated text
// says itself (a range that runs backwards wraps around). No other number, name or date may appear.
// The places and meanings are found without the code of the package.
func TestProposals(t *testing.T) {
	t.Parallel()
	for i, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(i), 18))
			faulty, proposed := 0, 0
			for range *proposeTexts {
				f, p := tryProposals(t, r, kind)
				faulty, proposed = faulty+f, proposed+p
			}
			t.Logf("%d mutated texts, %d faulty, %d proposals", *proposeTexts, faulty, proposed)
			require.Greater(t, faulty, *proposeTexts/10)
			require.Greater(t, proposed, *proposeTexts/50)
		})
	}
}

// tryProposals mutates one text and checks its proposals.
func tryProposals(t *testing.T, r *rand.Rand, kind Kind) (faulty, proposed int) {
	t.Helper()
	was, isLine := drawText(r, kind)
	if _, err := parsePlain(kind, was); err != nil {
		return 0, 0 // a day that does not exist
	}
	is := mutateJSON(r, was)
	if isLine {
		is = mutateLine(r, kind, was)
	}
	_, err := parsePlain(kind, is)
	var all *Error
	if !errors.As(err, &all) {
		return 0, 0
	}
	for i, f := range all.Faults {
		if f.Nearest == "" || strings.HasPrefix(f.Nearest, "the kind ") {
			continue // a text of another kind is named
		}
		proposed++
		what := fmt.Sprintf("%s: %q was %q: %s", kind, is, was, f)
		better, ok := putIn(kind, is, f, isLine)
		require.True(t, ok, "no place: %s", what)
		_, err := parsePlain(kind, better)
		var rest *Error
		if errors.As(err, &rest) {
			require.Less(t, i, len(all.Faults))
			for _, g := range rest.Faults {
				known := slices.ContainsFunc(all.Faults, func(k Fault) bool { return k.Path == g.Path && k.Allowed == g.Allowed })
				require.True(t, known && len(rest.Faults) < len(all.Faults), "%s\nbecomes %q: %s", what, better, g)
			}
			continue
		}
		if isLine {
			requireMeaning(t, kind, was, is, better, what)
			continue
		}
		requireSameDue(t, kind, was, is, better, what)
	}
	return 1, proposed
}

// proposalStart is the start and the creation of all texts. It is a Friday in the third week.
var proposalStart = time.Date(2026, 1, 16, 8, 30, 15, 0, time.UTC)

func parsePlain(kind Kind, text string) (*Plan, error) {
	return Parse(kind, []byte(text), Options{Start: proposalStart, Created: proposalStart.Add(-time.Hour)})
}

// requireSameDue compares the next instants of a text with those of the one that was mutated, and
// with those of the mutated one if its dates and clock times are read in full.
func requireSameDue(t *testing.T, kind Kind, was, is, better, what string) {
	t.Helper()
	due := func(text string) []time.Time {
		plan, err := parsePlain(kind, text)
		if err != nil {
			return nil
		}
		return Preview(plan, proposalStart.AddDate(0, -1, 0), 6)
	}
	got := due(better)
	if !slices.EqualFunc(due(was), got, time.Time.Equal) && !slices.EqualFunc(due(plainText(is)), got, time.Time.Equal) {
		require.Fail(t, "another meaning", "%s\nbecomes %q\n%v\n%v", what, better, due(was), got)
	}
}

var oddClock = regexp.MustCompile(`\b(\d{1,2})(?:[.:](\d\d))?(am|pm)\b`)

var ruleRange = regexp.MustCompile(`\b(\d{1,2}|[A-Z]{2})-(\d{1,2}|[A-Z]{2})\b`)

var bareClock = regexp.MustCompile(`"([01]\d|2[0-3])([0-5]\d)"`)

var gluedUnit = regexp.MustCompile(`(\d)((?:year|month|week|day|hour|minute|second)s?\b)`)

// plainText writes dates, clock times and the ranges of rules of a text in full.
func plainText(text string) string {
	if at := strings.Index(text, ";BY"); at >= 0 && strings.HasPrefix(text, "FREQ") {
		text = text[:at] + ruleRange.ReplaceAllStringFunc(text[at:], func(span string) string {
			m := ruleRange.FindStringSubmatch(span)
			days := []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}
			if a, b := slices.Index(days, m[1]), slices.Index(days, m[2]); a >= 0 && b >= 0 {
				if b < a {
					b += 7
				}
				return strings.Join(append(days, days...)[a:b+1], ",")
			}
			var list []string
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			for n := a; n <= b; n++ {
				list = append(list, strconv.Itoa(n))
			}
			return strings.Join(list, ",")
		})
	}
	text = strings.NewReplacer(`"a `, `"1 `, `"an `, `"1 `).Replace(text)
	text = bareClock.ReplaceAllString(text, `"$1.$2"`)
	text = gluedUnit.ReplaceAllString(text, "$1 $2")
	text = oddClock.ReplaceAllStringFunc(text, func(clock string) string {
		m := oddClock.FindStringSubmatch(clock)
		if n, _ := strconv.Atoi(m[1]); n == 0 && m[3] == "am" || n > 12 && m[3] == "pm" {
			return fmt.Sprintf("%d.%02s", n, m[2])
		}
		return clock
	})
	fields := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(`"{}, `, r) })
	for _, f := range fields {
		day, clock, hasClock := strings.Cut(f, "T")
		parts := strings.FieldsFunc(day, func(r rune) bool { return r == '-' || r == '/' || r == '.' })
		if len(parts) != 3 || len(parts[0]) != 4 || strings.Trim(day, "0123456789-/.") != "" {
			continue
		}
		padded := fmt.Sprintf("%s-%02s-%02s", parts[0], parts[1], parts[2])
		if hasClock {
			zone := strings.TrimLeft(clock, "0123456789:")
			hms := strings.Split(strings.TrimSuffix(clock, zone), ":")
			for i := range hms {
				hms[i] = fmt.Sprintf("%02s", hms[i])
			}
			padded += "T" + strings.Join(hms, ":") + zone
		}
		text = strings.Replace(text, f, padded, 1)
	}
	return text
}

// letters are inserted by mutations.
const letters = "0123456789abdefgijmnoprstuvwyz,-/:.*LW# "

// edit drops, inserts, replaces or swaps one character.
func edit(r *rand.Rand, text string) string {
	if text == "" {
		return "x"
	}
	c := []rune(text)
	i := r.IntN(len(c))
	switch r.IntN(5) {
	case 0, 1:
		c = slices.Delete(c, i, i+1)
	case 2:
		c = slices.Insert(c, i, rune(letters[r.IntN(len(letters)-1)]))
	case 3:
		c[i] = rune(letters[r.IntN(len(letters)-1)])
	default:
		if i > 0 {
			c[i], c[i-1] = c[i-1], c[i]
		}
	}
	return string(c)
}

// foreignNames are names of months and weekdays in other languages, and full English ones.
var foreignNames = map[string]map[string]int{
	"month": {
		"mai": 5, "mag": 5, "maj": 5, "mei": 5, "mayo": 5, "abr": 4, "avr": 4, "ago": 8, "dic": 12, "dez": 12, "okt": 10, "out": 10, "ott": 10,
		"set": 9, "fev": 2, "ene": 1, "gen": 1, "giu": 6, "mrz": 3, "mär": 3, "mrt": 3, "mars": 3, "juin": 6, "juni": 6, "juil": 7, "juli": 7,
		"januar": 1, "dezember": 12, "diciembre": 12, "octobre": 10, "janv": 1, "janeiro": 1, "aout": 8, "junio": 6, "julio": 7,
		"january": 1, "february": 2, "march": 3, "april": 4, "june": 6, "july": 7, "august": 8, "september": 9, "october": 10, "november": 11, "december": 12,
	},
	"dayOfWeek": {
		"mar": 2, "mer": 3, "mie": 3, "jue": 4, "gio": 4, "jeu": 4, "vie": 5, "ven": 5, "sab": 6, "sam": 6, "dim": 0, "dom": 0, "mit": 3, "fre": 5,
		"montag": 1, "dienstag": 2, "mittwoch": 3, "donnerstag": 4, "freitag": 5, "samstag": 6, "sonntag": 0, "lundi": 1, "viernes": 5, "domenica": 0,
		"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 0,
	},
}

var (
	shortMonths   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	shortWeekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} // Sunday is 0
)

// proposalField is one field of a line in this test.
type proposalField struct {
	name      string
	low, high int
}

// proposalFields returns the fields of the lines of a kind.
func proposalFields(kind Kind) []proposalField {
	s, m, h := proposalField{"second", 0, 59}, proposalField{"minute", 0, 59}, proposalField{"hour", 0, 23}
	day, month, weekday := proposalField{"dayOfMonth", 1, 31}, proposalField{"month", 1, 12}, proposalField{"dayOfWeek", 0, 6}
	switch kind {
	case KindCron5:
		return []proposalField{m, h, day, month, weekday}
	case KindCron6:
		return []proposalField{s, m, h, day, month, weekday}
	case KindQuartz:
		return []proposalField{s, m, h, day, month, {"dayOfWeek", 1, 7}, {"year", 1970, 2199}}
	}
	return []proposalField{{"year", 1, 9999}, month, {"day", 1, 31}, {"dayOfWeek", 1, 7}, h, m, s}
}

// drawText returns a text of a kind, most of them valid.
func drawText(r *rand.Rand, kind Kind) (text string, isLine bool) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	switch kind {
	case KindCron5, KindCron6, KindQuartz:
		return drawLine(r, kind), true
	case KindSAP:
		if r.IntN(3) > 0 {
			return `{"cron": "` + drawLine(r, kind) + `"}`, true
		}
		return "{" + pick(
			`"repeatInterval": "`+pick("20 minutes", "2 hours", "1 month", "3 weeks", "90 seconds", "5 days")+`"`,
			`"repeatAt": "`+pick("18.40", "4.40pm", "17.20:30", "6am", "0.30")+`"`,
			`"time": "`+pick("tomorrow at 4pm", "in 2 hours", "20 minutes from now", "friday at 2am", "9pm tonight", "next week monday at 5am", "2026-12-05", "2026-11-08T09:05:00Z")+`"`,
		) + pick("", `, "endTime": "2026-12-31"`, `, "timeZone": "Europe/Berlin"`) + "}", false
	case KindRRule:
		return pick("FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=MONTHLY;BYMONTHDAY=1,15,-1", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=YEARLY;BYMONTH=3,11;BYMONTHDAY=12",
			"FREQ=HOURLY;BYMINUTE=15,45", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH,SU", "FREQ=MINUTELY;INTERVAL=20") +
			pick("", ";BYHOUR=9,17", ";COUNT=12", ";UNTIL=20261231T000000Z") + pick("", ";WKST=SU", ";BYSECOND=0"), false
	case KindElastic:
		return fmt.Sprintf(`{"schedule_interval_type": %q, "schedule_interval_count": %d%s}`, pick("Minutes", "Hours", "Days", "Weeks", "Months"), 1+r.IntN(40),
			pick("", `, "schedule_start_time": "2026-02-05T10:00:00Z"`, `, "schedule_end_time": "2026-12-05"`)), false
	}
	schedule := pick("", `, "schedule": {"hours": [5, 17], "minutes": [0, 30]}`, `, "schedule": {"minutes": [15]}`)
	frequency := pick("Day", "Week", "Month", "Hour", "Minute")
	switch {
	case frequency == "Week":
		schedule = pick("", `, "schedule": {"weekDays": ["Monday", "thursday"], "hours": [8]}`)
	case frequency == "Month":
		schedule = pick("", `, "schedule": {"monthDays": [1, 15, -1]}`, `, "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": -1}]}`)
	case frequency != "Day":
		schedule = ""
	}
	return fmt.Sprintf(`{"frequency": %q, "interval": %d%s%s}`, frequency, 1+r.IntN(10), schedule,
		pick("", `, "count": 7`, `, "endTime": "2026-12-05T10:00:00Z"`, `, "timeZone": "America/New_York"`, `, "jitter": "5m"`, `, "catchUp": "window:P1D"`)), false
}

// drawLine returns a line of fields.
func drawLine(r *rand.Rand, kind Kind) string {
	var parts []string
	for _, f := range proposalFields(kind) {
		text := "*"
		if r.IntN(2) == 0 && f.name != "year" {
			text = drawItem(r, kind, f)
			for range r.IntN(3) {
				text += "," + drawItem(r, kind, f)
			}
		}
		parts = append(parts, text)
	}
	if kind == KindQuartz && r.IntN(2) == 0 {
		parts[3+2*r.IntN(2)] = "?"
	}
	return strings.Join(parts, " ")
}

// drawItem returns one item of a list.
func drawItem(r *rand.Rand, kind Kind, f proposalField) string {
	sign := map[bool]string{true: ":", false: "-"}[kind == KindSAP]
	value := func(n int) string {
		switch {
		case f.name == "month" && kind != KindSAP && r.IntN(2) == 0:
			return shortMonths[n-1]
		case f.name == "dayOfWeek" && kind == KindSAP:
			return shortWeekdays[n%7]
		case f.name == "dayOfWeek" && r.IntN(2) == 0:
			return shortWeekdays[n-f.low]
		}
		return strconv.Itoa(n)
	}
	n := func() int { return f.low + r.IntN(f.high-f.low+1) }
	a, b := n(), n()
	a, b = min(a, b), max(a, b)
	nth := f.name == "dayOfWeek" && r.IntN(4) == 0
	switch {
	case nth && kind == KindQuartz:
		return value(a) + []string{"L", "#1", "#3"}[r.IntN(3)]
	case nth && kind == KindSAP:
		return []string{"-1.", "2."}[r.IntN(2)] + value(a)
	case f.name == "dayOfMonth" && kind == KindQuartz && r.IntN(4) == 0:
		return []string{"L", "L-2", "LW", "15W", "LW-3"}[r.IntN(5)]
	case f.name == "day" && r.IntN(5) == 0:
		return "-" + strconv.Itoa(a)
	}
	switch r.IntN(5) {
	case 0:
		return value(a) + sign + value(b)
	case 1:
		return value(a) + sign + value(b) + "/2"
	case 2:
		return "*/" + strconv.Itoa(1+r.IntN(5))
	}
	return value(a)
}

// fieldsOf returns the line in a text of a kind.
func fieldsOf(kind Kind, text string) string {
	if kind != KindSAP {
		return text
	}
	var object map[string]string
	if json.Unmarshal([]byte(text), &object) != nil {
		return ""
	}
	return object["cron"]
}

// withLine is the opposite of fieldsOf.
func withLine(kind Kind, line string) string {
	if kind != KindSAP {
		return line
	}
	text, err := json.Marshal(map[string]string{"cron": line})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// mutateLine mutates one field of a line, or appends what a crontab has behind it.
func mutateLine(r *rand.Rand, kind Kind, text string) string {
	fields := proposalFields(kind)
	parts := strings.Fields(fieldsOf(kind, text))
	if kind != KindSAP && r.IntN(20) == 0 {
		return strings.Join(parts, " ") + []string{" # nightly", " root /usr/bin/backup", " /usr/bin/backup --all", " Europe/Paris"}[r.IntN(4)]
	}
	i := r.IntN(len(fields))
	f := fields[i]
	number := func() string { return strconv.Itoa(f.low + r.IntN(f.high-f.low+1)) }
	sign := map[bool]string{true: ":", false: "-"}[kind == KindSAP]
	switch r.IntN(8) {
	case 0: // a range that runs backwards
		a, b := f.low+1+r.IntN(f.high-f.low), f.low+r.IntN(f.high-f.low)
		if a <= b {
			a, b = b+1, a
		}
		item := fmt.Sprintf("%d%s%d", a, sign, b)
		if kind == KindSAP && f.name == "dayOfWeek" {
			item = shortWeekdays[a%7] + sign + shortWeekdays[b%7]
		}
		parts[i] = item + []string{"", "/2", "/3"}[r.IntN(3)]
	case 1: // a number out of range
		parts[i] = []string{"", "1,", "*/", "0" + sign}[r.IntN(4)] + strconv.Itoa(f.high+1+r.IntN(40))
	case 2: // a foreign or full name
		if names := foreignNames[f.name]; names != nil {
			parts[i] = slices.Sorted(maps.Keys(names))[r.IntN(len(names))]
		}
	case 3:
		parts[i] = []string{"0", "00", "+"}[r.IntN(3)] + number()
	case 4:
		parts[i] = []string{number() + ",," + number(), number() + "/2", number() + "-" + number(), "8am", "12pm", number() + "#2", "FRI#-1", "LW-2", "friL", "L", "0", "24", "*/60"}[r.IntN(13)]
	default:
		parts[i] = edit(r, parts[i])
	}
	return withLine(kind, strings.Join(parts, " "))
}

// mutateJSON mutates a character, a number or a name of a text.
func mutateJSON(r *rand.Rand, text string) string {
	isDigit := func(c rune) bool { return c >= '0' && c <= '9' }
	i := strings.IndexFunc(text, isDigit)
	switch {
	case i >= 0 && r.IntN(4) == 0:
		end := i + strings.IndexFunc(text[i:]+" ", func(c rune) bool { return !isDigit(c) })
		n := text[i:end]
		n = []string{"0", "-" + n, n + "000000000", "99", n + ".0", `"` + n + `"`, n + ".5"}[r.IntN(7)]
		return text[:i] + n + text[end:]
	case r.IntN(4) == 0:
		return strings.Replace(text, []string{"BYDAY", "interval", "frequency", "Month", "count", "friday", "Minutes"}[r.IntN(7)], []string{"x", "", "-"}[r.IntN(3)], 1)
	}
	return edit(r, text)
}

// putIn puts a proposal in the place of its value.
func putIn(kind Kind, text string, f Fault, isLine bool) (string, bool) {
	nearest, value := f.Nearest, f.Value
	if json.Unmarshal([]byte(nearest), new(string)) == nil {
		_ = json.Unmarshal([]byte(f.Nearest), &nearest)
	}
	_ = json.Unmarshal([]byte(f.Value), &value)
	if !isLine {
		return putInText(kind, text, f, value, nearest)
	}
	path, ok := strings.CutPrefix(f.Path, "cron.")
	if !ok {
		return withLine(kind, nearest), f.Path == "cron"
	}
	parts := strings.Fields(fieldsOf(kind, text))
	for i, field := range proposalFields(kind) {
		if field.name != path || i >= len(parts) {
			continue
		}
		items := strings.Split(parts[i], ",")
		if slices.Contains(items, value) {
			for at := range items {
				if items[at] == value {
					items[at] = nearest
				}
			}
			parts[i] = strings.Join(items, ",")
			return withLine(kind, strings.Join(parts, " ")), true
		}
		ok := parts[i] == value
		parts[i] = nearest
		return withLine(kind, strings.Join(parts, " ")), ok
	}
	return "", false
}

// putInText replaces the value, or the name for an unknown element, behind the last name of its
// path.
func putInText(kind Kind, text string, f Fault, value, nearest string) (string, bool) {
	name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	if f.OfName {
		return strings.Replace(text, `"`+name+`"`, `"`+nearest+`"`, 1), strings.Contains(text, `"`+name+`"`)
	}
	if kind == KindRRule {
		if f.Path == "rrule" {
			if value == text {
				return nearest, true
			}
			return strings.Replace(text, value, nearest, 1), strings.Contains(text, value)
		}
		at := strings.Index(strings.ToUpper(text), strings.ToUpper(name))
		if at < 0 {
			return "", false
		}
		return text[:at] + strings.Replace(text[at:], value, nearest, 1), strings.Contains(text[at:], value)
	}
	at := strings.Index(text, `"`+name+`"`)
	if at < 0 {
		return "", false
	}
	at += len(name) + 2
	quoted, err := json.Marshal(value)
	if err != nil {
		return "", false
	}
	old := string(quoted)
	if !strings.HasPrefix(f.Value, `"`) {
		old = f.Value
	}
	_, numeric := strconv.Atoi(nearest)
	fresh := `"` + nearest + `"`
	if numeric == nil && strings.Contains(f.Allowed, "number") && !strings.Contains(f.Allowed, "unit") {
		fresh = nearest
	}
	return text[:at] + strings.Replace(text[at:], old, fresh, 1), strings.Contains(text[at:], old)
}

// requireMeaning compares the fields of a repaired line with those of the line that was mutated and
// with the mutated ones.
func requireMeaning(t *testing.T, kind Kind, was, is, better, what string) {
	t.Helper()
	cut := func(text string) ([]string, string) {
		parts, zone := strings.Fields(fieldsOf(kind, text)), ""
		if len(parts) > 0 && strings.HasPrefix(parts[0], "CRON_TZ=") {
			zone, parts = strings.TrimPrefix(parts[0], "CRON_TZ="), parts[1:]
		}
		return parts, zone
	}
	original, _ := cut(was)
	mutated, _ := cut(is)
	got, zone := cut(better)
	require.Len(t, got, len(original), what)
	if len(mutated) == len(got)-1 { // a field is missing
		missing := slices.ContainsFunc([]int{0, 1, 2, 3, 4, 5, 6}, func(i int) bool {
			return i < len(got) && got[i] == "*" && slices.Equal(slices.Delete(slices.Clone(got), i, i+1), mutated)
		})
		require.True(t, missing, "%s\nbecomes %q", what, better)
		return
	}
	require.True(t, zone == "" || mutated[len(mutated)-1] == zone, what)
	for i, f := range proposalFields(kind) {
		if i >= len(got) || got[i] == original[i] || i < len(mutated) && got[i] == mutated[i] {
			continue
		}
		result, ok := readField(kind, f, got[i], false)
		require.True(t, ok, "%s\nbecomes %q: %s", what, better, got[i])
		before, _ := readField(kind, f, original[i], false)
		said, readable := readField(kind, f, mutated[i], true)
		lastDay := (mutated[i] == "29" || mutated[i] == "30" || mutated[i] == "31") && (got[i] == "L" || got[i] == "-1")
		require.True(t, maps.Equal(result, before) || readable && maps.Equal(result, said) || lastDay,
			"%s\nbecomes %q\n%s: %v, was %v, mutated %v", what, better, f.name, result, before, said)
	}
}

// readField returns the values and special items of a field. A liberal reading also takes the forms
// whose meaning is clear although they are refused.
func readField(kind Kind, f proposalField, text string, liberal bool) (map[string]bool, bool) {
	set := map[string]bool{}
	if liberal {
		text = strings.ReplaceAll(strings.ReplaceAll(text, ";", ","), "..", "-")
	}
	for item := range strings.SplitSeq(strings.ToLower(text), ",") {
		if item == "" && liberal {
			continue
		}
		if !readItem(kind, f, item, liberal, set) {
			return nil, false
		}
	}
	return set, len(set) > 0
}

func readItem(kind Kind, f proposalField, item string, liberal bool, set map[string]bool) bool {
	if special, ok := specialItem(kind, f, item, liberal); ok {
		set[special] = true
		return true
	}
	body, stepText, hasStep := strings.Cut(item, "/")
	step := 1
	if hasStep {
		n, err := strconv.Atoi(stepText)
		if err != nil || n < 1 || n > f.high && (!liberal || n != f.high+1) {
			return false
		}
		step = n
	}
	low, high := f.low, f.high
	if body == "*" || body == "?" || body == "" && hasStep {
		for n := low; n <= high; n++ {
			if kind == KindSAP && n%step == 0 || kind != KindSAP && (n-low)%step == 0 {
				set[strconv.Itoa(n)] = true
			}
		}
		return true
	}
	separators := map[bool]string{true: ":", false: "-"}[kind == KindSAP]
	if liberal {
		separators = "-:"
	}
	from, to, isRange := body, body, false
	if at := strings.IndexAny(body, separators); at > 0 {
		from, to, isRange = body[:at], body[at+1:], true
	}
	a, okA := readValue(kind, f, from, liberal)
	b, okB := readValue(kind, f, to, liberal)
	if !okA || !okB {
		return false
	}
	if hasStep && !isRange {
		b = high
	}
	if f.name == "dayOfWeek" && f.low == 0 && b == 0 && a > 0 && isRange {
		b = 7
	}
	if a > b {
		if kind == KindSAP && f.name == "day" && strings.Contains(body, ":") {
			return true // no days (D-S4)
		}
		if !liberal && kind != KindQuartz || f.name == "year" {
			return false
		}
		b += high - low + 1
	}
	for n := a; n <= b; n += step {
		set[strconv.Itoa(low+(n-low)%(high-low+1))] = true
	}
	return true
}

// specialItem returns an item that is no number, in one spelling.
func specialItem(kind Kind, f proposalField, item string, liberal bool) (string, bool) {
	switch {
	case kind == KindQuartz && f.name == "dayOfMonth" && (strings.HasPrefix(item, "l") || strings.HasSuffix(item, "w")):
		return item, true
	case kind == KindQuartz && f.name == "dayOfWeek" && item == "l":
		return "7", true
	case kind == KindQuartz && f.name == "dayOfWeek":
		name, n, ok := strings.Cut(item, "#")
		if !ok {
			if name, ok = strings.CutSuffix(item, "l"); !ok {
				return "", false
			}
			n = "l"
		}
		if liberal && n == "-1" {
			n = "l"
		}
		day, known := readValue(kind, f, name, liberal)
		return fmt.Sprintf("%d#%s", day, n), known && len(n) == 1
	case kind == KindSAP && f.name == "dayOfWeek":
		n, name, ok := strings.Cut(item, ".")
		if a, b, quartz := strings.Cut(item, "#"); quartz && liberal {
			n, name, ok = b, a, true
		}
		if last, isLast := strings.CutSuffix(item, "l"); isLast && liberal {
			n, name, ok = "-1", last, true
		}
		day, known := readValue(kind, f, name, liberal)
		return fmt.Sprintf("%s.%d", n, day), ok && known
	case kind == KindSAP && f.name == "day" && item == "l" && liberal:
		return "-1", true
	case kind == KindSAP && f.name == "day" && strings.HasPrefix(item, "-"):
		return item, true
	}
	return "", false
}

// readValue reads a number or a name.
func readValue(kind Kind, f proposalField, text string, liberal bool) (int, bool) {
	weekday := func(n int) int {
		switch {
		case kind == KindQuartz:
			return n + 1
		case kind == KindSAP:
			return (n+6)%7 + 1
		}
		return n
	}
	if f.name == "dayOfWeek" {
		if n := slices.Index(shortWeekdays, text); n >= 0 {
			return weekday(n), true
		}
		if n, ok := foreignNames["dayOfWeek"][text]; ok && liberal {
			return weekday(n), true
		}
		if kind == KindSAP {
			return 0, false
		}
	}
	if f.name == "month" {
		if n := slices.Index(shortMonths, text); n >= 0 {
			return n + 1, true
		}
		if n, ok := foreignNames["month"][text]; ok && liberal {
			return n, true
		}
	}
	if liberal {
		if at, err := time.Parse("3pm", text); err == nil && f.name == "hour" {
			return at.Hour(), true
		}
		text = strings.TrimPrefix(text, "+")
	}
	n, err := strconv.Atoi(text)
	if err == nil && f.name == "dayOfWeek" && f.low == 0 && n == 7 {
		return 0, true
	}
	return n, err == nil && strings.Trim(text, "0123456789") == "" && n >= f.low && n <= f.high
}
