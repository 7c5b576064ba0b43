package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// timeForms is the closed grammar of readable times (b.5, D-S10), for faults.
const timeForms = `"now", "20 minutes from now", "in 2 hours", "3.30pm", "9pm tonight", "tomorrow at 4pm", "friday at 2am", ` +
	`"next week monday at 5am" (a clock time is 4pm, 4.40pm, 18.40 or 17.20:30), or ` + dateForms

// readableTime reads a text of the closed grammar or a date, as of the moment of creation.
func (p *parser) readableTime(v *value, text string) (time.Time, bool) {
	if m, err := parseDate(text); err == nil {
		return m.in(p.zone), true
	}
	words := strings.Fields(strings.ToLower(text))
	r := relative{words: words, zone: p.zone, gap: p.gap, overlap: p.overlap}
	if r.gap == "" || r.gap == GapSkip {
		r.gap = GapShift // a single run is not lost
	}
	if r.overlap == "" {
		r.overlap = OverlapFirst
	}
	// What cannot be read is said even where no moment of creation is known.
	r.now = p.now()
	at, ok := r.read()
	if ok && r.now.IsZero() {
		p.needNow(v.path)
	}
	if !ok {
		propose := r.proposal()
		if propose == "" {
			propose = dateProposal(text)
		}
		p.faults.add(v.path, v.raw, "one of "+timeForms, propose)
	}
	return at, ok
}

// relative is a text that means an instant only together with the moment at which it is read (D-S14).
type relative struct {
	words   []string // lower case
	now     time.Time
	zone    *time.Location
	gap     Gap
	overlap Overlap
}

func (r *relative) read() (time.Time, bool) {
	w := r.words
	today := floorDiv(civil(r.now.In(r.zone)), daySeconds)
	switch {
	case len(w) == 1 && w[0] == "now":
		return r.now, true
	case len(w) == 1: // <clock>
		second, ok := parseClock(w[0])
		return r.firstAfterNow(second, ok, today, today+1)
	case len(w) == 2 && w[1] == "tonight":
		second, ok := parseClock(w[0])
		return r.at(today, second), ok
	case len(w) == 3 && w[0] == "in":
		return r.later(w[1], w[2])
	case len(w) == 4 && w[2] == "from" && w[3] == "now":
		return r.later(w[0], w[1])
	case len(w) == 3 && w[0] == "tomorrow" && w[1] == "at":
		second, ok := parseClock(w[2])
		return r.at(today+1, second), ok
	case len(w) == 3 && w[1] == "at": // <weekday> at <clock>
		day, known := weekdayOf(w[0])
		second, ok := parseClock(w[2])
		next := today + floorMod(int64(day-weekday(today)), 7)
		return r.firstAfterNow(second, ok && known, next, next+7)
	case len(w) == 5 && w[0] == "next" && w[1] == "week" && w[3] == "at":
		day, known := weekdayOf(w[2])
		second, ok := parseClock(w[4])
		return r.at(today-int64(weekday(today))+7+int64(day), second), ok && known
	}
	return time.Time{}, false
}

// at is a clock time of a day.
func (r *relative) at(day int64, second int) time.Time {
	at, _ := resolve(day*daySeconds+int64(second), r.zone, r.gap, r.overlap)
	return at
}

// firstAfterNow is a clock time of the first of two days if that is still to come, else of the second.
func (r *relative) firstAfterNow(second int, ok bool, first, second2 int64) (time.Time, bool) {
	if !ok {
		return time.Time{}, false
	}
	if at := r.at(first, second); at.After(r.now) {
		return at, true
	}
	return r.at(second2, second), true
}

// later is a number of units from now.
func (r *relative) later(number, unit string) (time.Time, bool) {
	seconds, _, ok := parseInterval(number + " " + unit)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(r.now.Unix()+seconds, 0).UTC(), true
}

// proposal is the nearest right text that differs in few words, each replaced by a near one; else empty.
func (r *relative) proposal() string {
	// "4 pm" is one word here.
	var words []string
	for _, word := range r.words {
		if n := len(words); n > 0 && (word == "am" || word == "pm") && strings.Trim(words[n-1], "0123456789.:") == "" {
			words[n-1] += word
			continue
		}
		words = append(words, word)
	}
	w := append([]string(nil), words...)
	vocabulary := append([]string{"now", "from", "in", "tomorrow", "tonight", "at", "next", "week"}, weekdayNames...)
	for _, u := range sapUnits {
		vocabulary = append(vocabulary, u.name)
	}
	try := relative{words: w, now: r.now, zone: r.zone, gap: r.gap, overlap: r.overlap}
	if _, ok := try.read(); ok {
		return quote(strings.Join(w, " "))
	}
	// Every word that is no word of the grammar becomes its nearest one; one at a time may suffice.
	for i, word := range words {
		best := word
		for _, c := range []string{wordNumber(word), strings.ToLower(nearest(word, vocabulary)), clockProposal(word)} {
			if c == "" {
				continue
			}
			w[i] = c
			if _, ok := try.read(); ok {
				return quote(strings.Join(w, " "))
			}
			if best == word && !isDigits(word) {
				best = c
			}
		}
		if _, isClock := parseClock(word); isClock {
			best = word
		}
		w[i] = best
	}
	return ""
}

// wordNumber is the number that a word says, in digits; empty when it says none.
func wordNumber(word string) string {
	if n, known := numberWords[word]; known {
		return strconv.Itoa(n)
	}
	return ""
}

// parseClock reads h[.mm[:ss]]am, …pm, or H.mm[:ss]; a colon and a point are the same. The text is in
// lower case. The result is in seconds of the day.
func parseClock(text string) (int, bool) {
	half := -1
	if body, ok := strings.CutSuffix(text, "am"); ok {
		half, text = 0, body
	} else if body, ok := strings.CutSuffix(text, "pm"); ok {
		half, text = 12, body
	}
	parts := strings.Split(strings.ReplaceAll(text, ":", "."), ".")
	if len(parts) > 3 || len(parts) == 1 && half < 0 {
		return 0, false
	}
	clock := [3]int{}
	for i, part := range parts {
		if !isDigits(part) || len(part) > 2 || i > 0 && len(part) != 2 {
			return 0, false
		}
		clock[i], _ = strconv.Atoi(part)
	}
	if half >= 0 {
		if clock[0] < 1 || clock[0] > 12 {
			return 0, false
		}
		clock[0] = clock[0]%12 + half
	}
	if clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return 0, false
	}
	return clock[0]*3600 + clock[1]*60 + clock[2], true
}

var clockParts = regexp.MustCompile(`^([0-9]{1,3})[.:]([0-9]{1,3})(?:[.:]([0-9]{1,3}))?(am|pm)?$`)

// clockProposal is the clock time that a wrong one most likely means; empty when none is near.
func clockProposal(text string) string {
	t := strings.ToLower(strings.TrimSpace(text))
	tries := []string{
		strings.ReplaceAll(t, " ", ""), strings.NewReplacer(" ", "", "a.m.", "am", "p.m.", "pm").Replace(t),
		strings.NewReplacer(",", ".", "h", ".", "-", ".").Replace(t), t + ".00",
	}
	if len(t) == 4 && isDigits(t) {
		tries = append(tries, t[:2]+"."+t[2:])
	}
	if t == "noon" {
		tries = append(tries, "12.00")
	}
	if t == "midnight" || t == "24:00" || t == "24.00" {
		tries = append(tries, "0.00")
	}
	// 13pm is 13.00, because nobody means 1am with it.
	for _, suffix := range []string{"am", "pm"} {
		if body, ok := strings.CutSuffix(t, suffix); ok {
			tries = append(tries, body, body+".00")
		}
	}
	if m := clockParts.FindStringSubmatch(t); m != nil {
		high := 23
		if m[4] != "" {
			high = 12
		}
		try := clamp(m[1], 0, high) + "." + fmt.Sprintf("%02s", clamp(m[2], 0, 59))
		if m[3] != "" {
			try += ":" + fmt.Sprintf("%02s", clamp(m[3], 0, 59))
		}
		tries = append(tries, try+m[4])
	}
	for _, try := range tries {
		if _, ok := parseClock(try); ok && try != text {
			return try
		}
	}
	return ""
}
