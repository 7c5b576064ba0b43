package schedule

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	slowTexts   = flag.Int("slow.texts", 2_000, "number of mutated texts of TestSlowTexts; above the default, each is limited to -slow.limit")
	slowLimit   = flag.Duration("slow.limit", 5*time.Millisecond, "longest time to parse a text and to take 20 instants")
	slowMeasure = flag.Bool("slow.measure", false, "limit the times of hostile and long texts, on an idle machine")
	slowSeed    = flag.Uint64("slow.seed", 18, "seed of the random texts")
)

// within runs f. With -slow.measure the shortest of up to 50 runs must take less than limit;
// without, there is one run and no limit, because the machine may be busy.
func within(t *testing.T, limit time.Duration, f func(), format string, args ...any) {
	t.Helper()
	best := time.Hour
	for try := 0; try == 0 || *slowMeasure && try < 50 && best >= limit; try++ {
		begun := time.Now()
		f()
		best = min(best, time.Since(begun))
	}
	if *slowMeasure && best >= limit {
		t.Errorf("it takes %s, want less than %s: "+format, append([]any{best, limit}, args...)...)
	}
}

// slowWords are parts that mutations put into a text.
var slowWords = []string{
	"*", "?", "L", "W", "LW", "#", "*/7", "0-59", "1-31/3", "29", "30", "31", "366", "-366", "53", "-53", "2,29", "29 2", "MO", "5SU", "-1FR", "FEB", "sun",
	"FREQ=SECONDLY", "FREQ=MINUTELY", "FREQ=HOURLY", "FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY", ";INTERVAL=23", ";INTERVAL=9999", ";COUNT=9007199254740992",
	";COUNT=1000", ";BYMONTH=2", ";BYMONTHDAY=29,30,31", ";BYMONTHDAY=-1", ";BYDAY=MO", ";BYDAY=5MO,-5TU", ";BYHOUR=0,1,2,23", ";BYMINUTE=0,30,59", ";BYSECOND=59",
	";BYSETPOS=1,-1", ";BYSETPOS=366", ";BYWEEKNO=53", ";BYYEARDAY=366", ";UNTIL=99991231T000000Z", ";WKST=SU", "RDATE:20270101T000000Z\n", "EXDATE:20270101T000000Z\n", "RRULE:",
	"DTSTART;TZID=Europe/Berlin:20260329T023000\n", "\"overlap\":\"both\",", "\"gap\":\"skip\",", "\"count\":99999,", "\"timeZone\":\"Australia/Lord_Howe\",", "\"jitter\":\"PT1H\",",
	"\"blackouts\":[{\"dates\":[\"2026-01-01/2026-12-31\"]}],", "{", "}", "[", "]", "\"", ",", ":", "-", "/", "=", ";", " ", "\n", "0", "1", "5", "9", "é",
}

// slowLists are items that a long text repeats, up to the limit of 64 KiB.
var slowLists = []struct {
	kind                 Kind
	before, items, after string
}{
	{KindCron5, "", "x,", "1 * * * *"}, {KindCron5, "", "1-59/2,", "1 * * * *"}, {KindCron6, "0 0 0 ", "31,30,", "29 2 *"}, {KindQuartz, "0 0 0 ? * ", "MON#5,", "TUE#5"},
	{KindQuartz, "0 0 0 ? 2 1 ", "2099,", "2096"}, {KindCron5, "0 0 * * ", "fri-mon,", "1"}, {KindRRule, "FREQ=YEARLY;BYWEEKNO=", "53,", "-53;BYDAY=SU"},
	{KindRRule, "FREQ=YEARLY;BYYEARDAY=", "366,", "-366;BYDAY=MO"}, {KindRRule, "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=", "31,", "5"}, {KindRRule, "FREQ=DAILY;BYHOUR=", "23,22,", "1"},
	{KindRRule, "FREQ=DAILY;", "BYHOUR=1;", "BYMINUTE=2"}, {KindRRule, "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY\n", "EXDATE:20270101T000000Z\n", ""},
	{KindRRule, "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY\nRDATE:", "20270101T000000Z,", "20280101T000000Z"}, {KindSAP, `{"cron": "`, "1,", `1 * * * 0 0 0"}`},
	{KindAzureScheduler, `{"frequency": "Month", "schedule": {"monthDays": [`, "31,", `-1]}}`}, {KindElastic, "[", "[", "]"}, {KindSAP, `{"time": "`, "tomorrow ", `at 4pm"}`},
	{KindAzureScheduler, "{", `"frequency": "Day",`, `"interval": 1}`}, {KindCron5, "", "* ", "*"}, {KindRRule, "", "BEGIN:VEVENT\n", "END:VEVENT"},
}

// mutate appends a mutation of a text to buf.
func mutate(r *rand.Rand, buf []byte, seeds []vector, text string) []byte {
	buf = append(buf, text...)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(buf) + 1)
		switch r.IntN(6) {
		case 0: // a word in between
			w := slowWords[r.IntN(len(slowWords))]
			buf = append(buf, w...)
			copy(buf[at+len(w):], buf[at:])
			copy(buf[at:], w)
		case 1: // a word in place of a part
			if parts := bytes.FieldsFunc(buf, func(c rune) bool { return strings.ContainsRune(" ,;=", c) }); len(parts) > 0 {
				buf = bytes.Replace(buf, parts[r.IntN(len(parts))], []byte(slowWords[r.IntN(len(slowWords))]), 1)
			}
		case 2: // without a piece
			buf = append(buf[:at], buf[min(len(buf), at+1+r.IntN(4)):]...)
		case 3: // a digit is another one
			for i := at; i < len(buf); i++ {
				if buf[i] >= '0' && buf[i] <= '9' {
					buf[i] = byte('0' + r.IntN(10))
					break
				}
			}
		case 4: // a word at the end
			buf = append(buf, slowWords[r.IntN(len(slowWords))]...)
		case 5: // the rest is that of another text
			if other := seeds[r.IntN(len(seeds))].Spec; len(other) > 0 {
				buf = append(buf[:at], other[r.IntN(len(other)):]...)
			}
		}
	}
	return buf
}

// long appends a text of up to 64 KiB that repeats an item.
func long(r *rand.Rand, buf []byte) (Kind, []byte) {
	l := slowLists[r.IntN(len(slowLists))]
	size := 1 << (8 + r.IntN(9))
	buf = append(buf, l.before...)
	for len(buf)+len(l.items)+len(l.after) < min(size, 64<<10) {
		buf = append(buf, l.items...)
	}
	return l.kind, append(buf, l.after...)
}

// slowest is the text of a kind that took longest.
type slowest struct {
	spent time.Duration
	text  string
	over  int // texts above the limit
}

// spend parses a text and takes 20 instants.
func spend(kind Kind, text []byte, opts Options, after time.Time) time.Duration {
	begun := time.Now()
	if plan, err := Parse(kind, text, opts); err == nil {
		for range 20 {
			next, ok := plan.Next(after)
			if !ok {
				break
			}
			after = next
		}
	}
	return time.Since(begun)
}

// TestSlowTexts searches for texts whose parsing and first 20 instants take long: mutated valid
// texts of all kinds, and long hostile ones. A slow text is measured again up to 20 times, and the
// shortest time counts, because the machine also does other things. The default run has no limit.
func TestSlowTexts(t *testing.T) {
	t.Parallel()
	var seeds []vector
	for _, file := range []string{"testdata/vectors.json", "testdata/further.json", "testdata/faults.json"} {
		seeds = append(seeds, readVectors(t, file)...)
	}
	require.NotEmpty(t, seeds)
	zones := []string{"UTC", "", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "Pacific/Apia"}
	limited := *slowTexts > 2_000
	end, bounded := t.Deadline()
	var left, done atomic.Int64
	left.Store(int64(*slowTexts))
	var mu sync.Mutex
	found := map[string]*slowest{}
	search := func(seed uint64) {
		r := rand.New(rand.NewPCG(*slowSeed, seed))
		var buf []byte
		for left.Add(-1) >= 0 {
			if done.Add(1)%1000 == 0 && bounded && time.Until(end) < 20*time.Second {
				return
			}
			v := seeds[r.IntN(len(seeds))]
			kind, name := Kind(v.Kind), v.Kind
			if r.IntN(1_000) == 0 {
				kind, buf = long(r, buf[:0])
				name = string(kind) + ", long"
			} else {
				buf = mutate(r, buf[:0], seeds, v.Spec)
				if kind == "" || r.IntN(10) == 0 {
					kind = Kinds()[r.IntN(len(Kinds()))]
					name = string(kind)
				}
			}
			start := time.Unix(946_684_800+r.Int64N(3_155_760_000), 0).UTC() // 2000 to 2100
			opts := Options{Start: start, Created: start, Zone: zones[r.IntN(len(zones))]}
			after := start.Add(-time.Second)
			spent := spend(kind, buf, opts, after)
			mu.Lock()
			s := found[name]
			if s == nil {
				s = &slowest{}
				found[name] = s
			}
			suspect := spent > s.spent || limited && spent > *slowLimit
			mu.Unlock()
			if !suspect {
				continue
			}
			for tries := 0; tries < 3 || tries < 20 && spent > *slowLimit; tries++ {
				spent = min(spent, spend(kind, buf, opts, after))
			}
			mu.Lock()
			if spent > *slowLimit {
				if s.over++; s.over <= 5 {
					t.Logf("%s: %s in %q from %s: %s", name, spent, opts.Zone, start.Format(time.RFC3339), excerpt(buf))
				}
			}
			if spent > s.spent {
				s.spent, s.text = spent, fmt.Sprintf("in %q from %s: %s", opts.Zone, start.Format(time.RFC3339), excerpt(buf))
			}
			mu.Unlock()
		}
	}
	var workers sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) {
		workers.Go(func() { search(uint64(i)) })
	}
	workers.Wait()
	if !limited {
		return
	}
	t.Logf("%d texts", done.Load())
	for name, s := range found {
		t.Logf("%s: slowest %s %s", name, s.spent, s.text)
		if s.over > 0 {
			t.Errorf("%s: %d texts take longer than the limit", name, s.over)
		}
	}
}

// excerpt returns a text that can be printed.
func excerpt(text []byte) string {
	if len(text) > 400 {
		return fmt.Sprintf("%q… (%d bytes)", text[:400], len(text))
	}
	return fmt.Sprintf("%q", text)
}
