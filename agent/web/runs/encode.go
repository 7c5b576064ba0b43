package runs

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxDelta bounds an update, in bytes; the rest comes with the next one.
const maxDelta = 40_000

// unknownFlag is added to a state whose outcome is unknown.
const unknownFlag = 32

// answerKey names an encoded answer: what a viewer has already.
type answerKey struct {
	version        int64 // of the run
	since          int64 // version that the viewer has
	targets, texts int   // that the viewer has
}

// appendCell adds a cell: row, step, state, attempts, start, end, text. Times are in milliseconds
// since the run was created, or -1; the text is its number plus 1, or 0.
func (w *watch) appendCell(b []byte, c *cell) []byte {
	ms := func(t time.Time) int64 {
		if t.IsZero() {
			return -1
		}
		return t.Sub(w.head.CreateTime).Milliseconds()
	}
	s := int64(c.state)
	if c.unknown {
		s += unknownFlag
	}
	start := c.attempt
	if c.state.final() {
		start = c.start
	}
	for _, n := range [...]int64{int64(c.row), int64(c.step), s, int64(c.attempts), ms(start), ms(c.end), int64(c.message) + 1} {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	return b
}

// appendJSON adds a string.
func appendJSON(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be encoded
	}
	return append(b, quoted...)
}

// trim replaces the comma at the end of a list by its bracket.
func trim(b []byte) []byte { return append(bytes.TrimSuffix(b, []byte(",")), ']') }

// appendTexts adds the messages from a number on: their groups and texts.
func (w *watch) appendTexts(b []byte, from int) []byte {
	b = append(b, '[')
	for _, m := range w.messages[from:] {
		b = append(b, `["`...)
		b = append(append(b, w.groups[m.group].id...), `",`...)
		b = append(appendJSON(b, m.text), "],"...)
	}
	return trim(b)
}

// answer returns what a viewer lacks that has the state of a version, the first targets and the
// first texts. It is encoded once for all viewers that ask for the same.
func (w *watch) answer(key answerKey) []byte {
	key.version = w.version
	if key.since < w.base || key.since > w.version || key.targets > len(w.targets) || key.texts > len(w.messages) {
		key.since, key.targets, key.texts = 0, 0, 0
	}
	if b := w.answers[key]; b != nil {
		return b
	}
	b := fmt.Appendf(nil, `{"epoch":%d,"from":%d,"to":%d,"created":%d,"targetsFrom":%d,"textsFrom":%d,"targets":[`,
		w.epoch, key.since, w.version, w.head.CreateTime.UnixMilli(), key.targets, key.texts)
	for _, t := range w.targets[key.targets:] {
		b = append(appendJSON(append(b, '['), t.server), ',')
		b = append(append(append(appendJSON(b, t.database), `,"`...), t.id.String()...), `"],`...)
	}
	b = w.appendTexts(append(trim(b), `,"texts":`...), key.texts)
	b = append(b, `,"cells":[`...)
	if key.since == 0 {
		for _, s := range w.steps {
			for i := range s.cells {
				b = w.appendCell(b, &s.cells[i])
			}
		}
	} else {
		for c := range w.since(key.since) {
			b = w.appendCell(b, c)
		}
	}
	b = append(trim(b), '}')
	for other := range w.answers {
		if other.version != w.version {
			delete(w.answers, other)
		}
	}
	if len(w.answers) < 8 { // viewers have few different states
		if w.answers == nil {
			w.answers = map[answerKey][]byte{}
		}
		w.answers[key] = compress(b)
		return w.answers[key]
	}
	return compress(b)
}

// compress returns b by gzip.
func compress(b []byte) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // the level is valid, and a buffer does not fail
	}
	return out.Bytes()
}

// progress is what the viewers of a stream have.
type progress struct {
	version        int64
	targets, texts int
}

// delta returns the next update after p, and moves p; nil if nothing has changed. Viewers load new
// targets themselves, because a list may be long.
func (w *watch) delta(p *progress) []byte {
	if p.version == w.version {
		return nil
	}
	load := p.targets != len(w.targets) || p.version < w.base || len(w.messages)-p.texts > 100
	if load {
		*p = progress{w.version, len(w.targets), len(w.messages)}
		return fmt.Appendf(nil, `{"epoch":%d,"to":%d,"load":true}`, w.epoch, w.version)
	}
	b := fmt.Appendf(nil, `{"epoch":%d,"from":%d,"textsFrom":%d,"texts":`, w.epoch, p.version, p.texts)
	b = append(w.appendTexts(b, p.texts), `,"cells":[`...)
	to := w.version
	for c := range w.since(p.version) {
		if len(b) > maxDelta {
			break
		}
		b = w.appendCell(b, c)
		to = c.version
	}
	if len(b) <= maxDelta {
		to = w.version
	}
	*p = progress{to, len(w.targets), len(w.messages)}
	return append(trim(b), fmt.Sprintf(`,"to":%d}`, to)...)
}

// writeJSON writes JSON that is compressed by gzip, to clients that cannot read that as it was
// before.
func writeJSON(w http.ResponseWriter, r *http.Request, compressed []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(compressed) // the client may have gone
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err) // compress has made it
	}
	_, _ = io.Copy(w, z) //nolint:gosec // the text is ours
}
