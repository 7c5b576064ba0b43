package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
)

const (
	// maxMessages bounds the different texts of a run that are kept; the rest have the text of
	// their group.
	maxMessages = 5000
	// maxGroups bounds the groups of a run: targets may send other texts with each attempt. Further
	// ones are in one group, which has the text furtherErrors.
	maxGroups     = 2000
	furtherErrors = "Further errors, whose texts are not kept."
)

// group is the messages that say the same of different targets.
type group struct {
	id    string // see page.ErrorKey
	text  string // of the first message
	error int    // the error's number; 0: none
	count int    // cells that have it now
	bad   int    // of these, Failed and TimedOut
}

// intern returns the number of a message.
func (w *watch) intern(number int, text string) int32 {
	key := page.ErrorKey(number, text)
	g, ok := w.byKey[key]
	if !ok && len(w.groups) >= maxGroups && text != furtherErrors {
		return w.intern(0, furtherErrors)
	}
	if !ok {
		g = int32(len(w.groups))
		w.byKey[key] = g
		w.groups = append(w.groups, group{id: key, text: text, error: number})
	}
	full := fmt.Sprintf("%d\x00%s", number, text)
	if at, ok := w.texts[full]; ok {
		return at
	}
	if len(w.messages) >= maxMessages {
		if at, ok := w.texts["group\x00"+key]; ok {
			return at
		}
		full, text = "group\x00"+key, w.groups[g].text
	}
	at := int32(len(w.messages))
	w.texts[full] = at
	w.messages = append(w.messages, message{text: text, group: g})
	return at
}

// regroup counts a change of a cell.
func (w *watch) regroup(was, now cell) {
	count := func(c cell, by int) {
		if c.message < 0 {
			return
		}
		g := &w.groups[w.messages[c.message].group]
		g.count += by
		if c.state == failed || c.state == timedOut {
			g.bad += by
		}
	}
	if was.version > 0 {
		count(was, -1)
	}
	count(now, 1)
}

// common returns the groups with cells, the largest first.
func (w *watch) common(limit int) (list []group, more int) {
	for _, g := range w.groups {
		if g.count > 0 {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Or(b.bad-a.bad, b.count-a.count) })
	more = max(0, len(list)-limit)
	return list[:len(list)-more], more
}

// fold returns a text as searches compare it.
func fold(text string) string { return strings.ToLower(text) }
