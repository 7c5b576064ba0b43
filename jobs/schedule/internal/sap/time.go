package sap

import (
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// timeForms describes the closed grammar of readable times (D-S10) in faults.
const timeForms = `"now", "20 minutes from now", "in 2 hours", "3.30pm", "9pm tonight", "tomorrow at 4pm", "friday at 2am", ` +
	`"next week monday at 5am" (a clock time is 4pm, 4.40pm, 18.40 or 17.20:30), or ` + syntax.DateForms

// readableTime parses a text of the closed grammar, relative to the creation, or a date.
func readableTime(p *syntax.Parser, v *syntax.Value, text string) (time.Time, bool) {
	if m, err := syntax.ParseDate(text); err == nil {
		return m.In(p.Zone), true
	}
	words := strings.Fields(strings.ToLower(text))
	r := relative{words: words, zone: p.Zone, gap: p.Gap, overlap: p.Overlap}
	if r.gap == "" || r.gap == engine.GapSkip {
		r.gap = engine.GapShift // a single run is not lost
	}
	if r.overlap == "" {
		r.overlap = engine.OverlapFirst
	}
	// An invalid text is a fault even if the creation is unknown.
	r.now = p.Creation()
	at, ok := r.read()
	if ok && r.now.IsZero() {
		p.NeedCreation(v.Path())
	}
	if !ok {
		propose := r.proposal()
		if propose == "" {
			propose = syntax.DateProposal(text)
		}
		p.Faults.Add(v.Path(), v.JSON(), "one of "+timeForms, propose)
	}
	return at, ok
}

// relative is a text whose instant depends on the time at which it is read (D-S14).
type relative struct {
	words   []string // lower case
	now     time.Time
	zone    *time.Location
	gap     engine.Gap
	overlap engine.Overlap
}

func (r *relative) read() (time.Time, bool) {
	w := r.words
	today := civil.FloorDiv(civil.Seconds(r.now.In(r.zone)), civil.DaySeconds)
	switch {
	case len(w) == 1 && w[0] == "now":
		return r.now, true
	case len(w) == 1: // <clock>
		second, ok := syntax.ParseClock(w[0])
		return r.firstAfterNow(second, ok, today, today+1)
	case len(w) == 2 && w[1] == "tonight":
		second, ok := syntax.ParseClock(w[0])
		return r.at(today, second), ok
	case len(w) == 3 && w[0] == "in":
		return r.later(w[1], w[2])
	case len(w) == 4 && w[2] == "from" && w[3] == "now":
		return r.later(w[0], w[1])
	case len(w) == 3 && w[0] == "tomorrow" && w[1] == "at":
		second, ok := syntax.ParseClock(w[2])
		return r.at(today+1, second), ok
	case len(w) == 3 && w[1] == "at": // <weekday> at <clock>
		day, known := civil.ParseWeekday(w[0])
		second, ok := syntax.ParseClock(w[2])
		next := today + civil.FloorMod(int64(day-civil.Weekday(today)), 7)
		return r.firstAfterNow(second, ok && known, next, next+7)
	case len(w) == 5 && w[0] == "next" && w[1] == "week" && w[3] == "at":
		day, known := civil.ParseWeekday(w[2])
		second, ok := syntax.ParseClock(w[4])
		return r.at(today-int64(civil.Weekday(today))+7+int64(day), second), ok && known
	}
	return time.Time{}, false
}

// at returns the instant of a clock time on a day.
func (r *relative) at(day int64, second int) time.Time {
	at, _ := engine.Resolve(day*civil.DaySeconds+int64(second), r.zone, r.gap, r.overlap)
	return at
}

// firstAfterNow returns the clock time on the first day if it is after now. Otherwise it returns
// the clock time on the second day.
func (r *relative) firstAfterNow(second int, ok bool, first, second2 int64) (time.Time, bool) {
	if !ok {
		return time.Time{}, false
	}
	if at := r.at(first, second); at.After(r.now) {
		return at, true
	}
	return r.at(second2, second), true
}

// later returns the instant that is a number of units after now.
func (r *relative) later(number, unit string) (time.Time, bool) {
	seconds, _, ok := syntax.ParseInterval(number + " " + unit)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(r.now.Unix()+seconds, 0).UTC(), true
}

// maxProposalWords bounds the search for a proposal, which parses the text several times for each
// word. The longest valid text has 9 words.
const maxProposalWords = 20

// proposal returns the nearest valid text, in which a few words are replaced by near ones. It
// returns "" if there is none.
func (r *relative) proposal() string {
	if len(r.words) > 10 {
		return "" // the longest form has five words, and "4 p m" is one
	}
	// A number and its suffix ("4 pm") are joined to one word.
	var words []string
	for _, word := range r.words {
		if n := len(words); n > 0 && (word == "am" || word == "pm") && strings.Trim(words[n-1], "0123456789.:") == "" {
			words[n-1] += word
			continue
		}
		words = append(words, word)
	}
	w := append([]string(nil), words...)
	vocabulary := append([]string{"now", "from", "in", "tomorrow", "tonight", "at", "next", "week"}, civil.WeekdayNames...)
	for _, u := range syntax.Units {
		vocabulary = append(vocabulary, u.Name)
	}
	if len(words) > maxProposalWords {
		return ""
	}
	try := relative{words: w, now: r.now, zone: r.zone, gap: r.gap, overlap: r.overlap}
	if _, ok := try.read(); ok {
		return syntax.Quote(strings.Join(w, " "))
	}
	// Each word outside the grammar is replaced by the nearest one, until the text is valid.
	for i, word := range words {
		best := word
		near := ""
		if !strings.ContainsAny(word, "0123456789") { // "0minutes" belongs to the number before it
			near = strings.ToLower(suggest.Nearest(word, vocabulary))
		}
		for _, c := range []string{wordNumber(word), near, syntax.ClockProposal(word)} {
			if c == "" {
				continue
			}
			w[i] = c
			if _, ok := try.read(); ok {
				return syntax.Quote(strings.Join(w, " "))
			}
			if best == word && !syntax.IsDigits(word) {
				best = c
			}
		}
		if _, isClock := syntax.ParseClock(word); isClock {
			best = word
		}
		w[i] = best
	}
	return ""
}

// wordNumber returns the digits of a number word. It returns "" for any other word.
func wordNumber(word string) string {
	if n, known := syntax.NumberWords[word]; known {
		return strconv.Itoa(n)
	}
	return ""
}

// settle returns the instant of a time that depends on the creation. It returns false if the time
// does not depend on it or is invalid.
func settle(p *syntax.Parser, name string, v *syntax.Value) (time.Time, bool) {
	if name != "time" {
		return time.Time{}, false
	}
	if v.Kind == '"' {
		if _, err := syntax.ParseDate(v.Text); err == nil {
			return time.Time{}, false
		}
		return readableTime(p, v, v.Text)
	}
	if v.Kind != '{' {
		return time.Time{}, false
	}
	m, ok := dateObject(p, v)
	if !ok {
		return time.Time{}, false
	}
	created := p.Created
	p.Created = created.AddDate(-1, -1, -1)
	other, _ := dateObject(p, v)
	p.Created = created
	at := m.In(p.Zone)
	return at, !at.Equal(other.In(p.Zone))
}
