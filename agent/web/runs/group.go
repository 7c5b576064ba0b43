package runs

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
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
	id    string // stable: a hash of the key
	text  string // of the first message
	error int    // the error's number; 0: none
	count int    // cells that have it now
	bad   int    // of these, Failed and TimedOut
}

// variable matches what differs between messages that say the same: quoted names, GUIDs, numbers,
// addresses, instants.
var variable = regexp.MustCompile(`'[^']*'|"[^"]*"|\x{201C}[^\x{201D}]*\x{201D}|\[[^\]]*\]|` +
	`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0[xX][0-9a-fA-F]+|` +
	`\d+(?:[.,:\-T]\d+)*`)

// normalise replaces what differs between messages that say the same.
func normalise(text string) string {
	return variable.ReplaceAllStringFunc(text, func(part string) string {
		switch part[0] {
		case '\'', '"', '[':
			return part[:1] + "…" + part[len(part)-1:]
		case '\xe2':
			return "“…”"
		}
		return "#"
	})
}

// intern returns the number of a message.
func (w *watch) intern(number int, text string) int32 {
	key := fmt.Sprintf("%d\x00%s", number, normalise(text))
	g, ok := w.byKey[key]
	if !ok && len(w.groups) >= maxGroups && text != furtherErrors {
		return w.intern(0, furtherErrors)
	}
	if !ok {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(key)) // a hash does not fail
		g = int32(len(w.groups))
		w.byKey[key] = g
		w.groups = append(w.groups, group{id: fmt.Sprintf("%016x", hash.Sum64()), text: text, error: number})
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
