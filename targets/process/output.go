package process

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jobagent/jobagent/targets"
)

// Limits of the kept output of a stream.
const (
	keptBytes  = 32 << 10 // at the beginning, and as many at the end
	keptBlocks = 200      // at the beginning, and as many at the end
	lineBytes  = 4 << 10
	blockBytes = 4 << 10
)

// defaultOutputLimit bounds stdout and stderr of an attempt together.
const defaultOutputLimit = 10 << 20

// capture keeps the first and the last part of the output of a process, in the order of time. Its
// memory does not grow with the output. Safe for concurrent use.
type capture struct {
	mu       sync.Mutex
	limit    int64
	total    int64         // bytes that were read
	exceeded chan struct{} // closed when total exceeds limit
	newest   *block
	number   int                 // number of blocks so far
	watch    func(output []byte) // see [Runner]
	streams  []*stream
}

// block is consecutive lines of one stream.
type block struct {
	number int
	kind   targets.MessageKind
	text   []byte
}

// stream is stdout or stderr.
type stream struct {
	*capture
	kind targets.MessageKind
	mask *masker
	line []byte // the incomplete last line
	cut  bool   // bytes beyond the limit were dropped

	head, tail           []*block
	headBytes, tailBytes int
	headFull             bool
	droppedBytes         int64
	droppedBlocks        int
}

// newCapture returns a capture that keeps at most limit bytes; 0 means the default.
func newCapture(limit int64) *capture {
	if limit == 0 {
		limit = defaultOutputLimit
	}
	return &capture{limit: limit, exceeded: make(chan struct{})}
}

// stream adds a stream whose messages have the kind. Secrets are masked.
func (c *capture) stream(kind targets.MessageKind, secrets []string) *stream {
	s := &stream{capture: c, kind: kind, mask: newMasker(secrets)}
	c.streams = append(c.streams, s)
	return s
}

// Write implements io.Writer; it never fails. Bytes beyond the limit are counted and dropped.
func (s *stream) Write(p []byte) (int, error) {
	if s.watch != nil {
		s.watch(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	room := max(0, s.limit-s.total)
	s.total += int64(n)
	if s.total > s.limit {
		select {
		case <-s.exceeded:
		default:
			close(s.exceeded)
		}
		p = p[:min(int64(n), room)]
		s.cut = s.cut || len(p) < n
	}
	s.add(s.mask.feed(p))
	return n, nil
}

// add splits text into lines. s.mu must be held.
func (s *stream) add(text []byte) {
	for len(text) > 0 {
		part, rest, complete := bytes.Cut(text, []byte{'\n'})
		if room := lineBytes - len(s.line); len(part) > room {
			part, rest, complete = text[:room], text[room:], false
		}
		s.line = append(s.line, part...)
		text = rest
		switch {
		case complete:
			s.keep(bytes.TrimSuffix(s.line, []byte{'\r'}))
			s.line = s.line[:0]
		case len(s.line) == lineBytes && len(text) > 0:
			whole := completeRunes(s.line)
			s.keep(s.line[:whole])
			s.line = append(s.line[:0], s.line[whole:]...)
		}
	}
}

// completeRunes returns the length of text without an incomplete character at its end.
func completeRunes(text []byte) int {
	for n := 1; n < utf8.UTFMax && n < len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// keep keeps one line, in parts if it becomes longer than a line may be.
func (s *stream) keep(line []byte) {
	text := bytes.ToValidUTF8(line, []byte("\uFFFD"))
	for len(text) > lineBytes {
		part := completeRunes(text[:lineBytes])
		s.keepText(text[:part])
		text = text[part:]
	}
	s.keepText(text)
}

// keepText adds a line to the first or the last part of the kept output.
func (s *stream) keepText(line []byte) {
	cost := len(line) + 1
	joins := s.newest != nil && s.newest.kind == s.kind && len(s.newest.text)+cost <= blockBytes
	if !s.headFull && s.headBytes+cost <= keptBytes && (joins || len(s.head) < keptBlocks) {
		s.headBytes += cost
		s.head = s.append(s.head, line, joins)
		return
	}
	if !s.headFull {
		s.headFull, joins = true, false
	}
	s.tailBytes += cost
	s.tail = s.append(s.tail, line, joins)
	for s.tailBytes > keptBytes || len(s.tail) > keptBlocks {
		first := s.tail[0]
		s.tail = s.tail[1:]
		s.tailBytes -= len(first.text) + 1
		s.droppedBytes += int64(len(first.text) + 1)
		s.droppedBlocks++
	}
}

// append adds a line to the newest block, or a block to the list.
func (s *stream) append(list []*block, line []byte, joins bool) []*block {
	if joins {
		s.newest.text = append(append(s.newest.text, '\n'), line...)
		return list
	}
	s.number++
	s.newest = &block{number: s.number, kind: s.kind, text: bytes.Clone(line)}
	return append(list, s.newest)
}

// finish ends the streams and returns the messages in the order of time, and the number of the
// messages that were dropped.
func (c *capture) finish() (messages []targets.Message, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*block
	for _, s := range c.streams {
		s.add(s.mask.flush(s.cut))
		if len(s.line) > 0 {
			s.keep(s.line)
			s.line = nil
		}
		all = append(all, s.head...)
		if s.droppedBytes > 0 {
			dropped += s.droppedBlocks
			all = append(all, &block{number: s.tail[0].number, kind: targets.KindAgent, text: fmt.Appendf(nil,
				"%s of the %s are left out here.", size(s.droppedBytes), s.name())})
		}
		all = append(all, s.tail...)
	}
	slices.SortStableFunc(all, func(a, b *block) int { return a.number - b.number })
	for _, b := range all {
		messages = append(messages, targets.Message{Kind: b.kind, Text: string(b.text)})
	}
	if c.total > c.limit {
		messages = append(messages, targets.Message{Kind: targets.KindAgent, Text: fmt.Sprintf(
			"The output exceeded the limit of %s: %s at its end are left out.", size(c.limit), size(c.total-c.limit))})
	}
	return messages, dropped
}

// lastLine returns the last line that is not empty; finish must have been called.
func (s *stream) lastLine() string {
	for _, list := range [][]*block{s.tail, s.head} {
		if len(list) > 0 {
			lines := strings.Split(strings.TrimSpace(string(list[len(list)-1].text)), "\n")
			return strings.TrimSpace(lines[len(lines)-1])
		}
	}
	return ""
}

// name returns the stream's name in messages.
func (s *stream) name() string {
	if s.kind == targets.KindErrorOutput {
		return "standard error"
	}
	return "standard output"
}

// size returns a number of bytes in the largest unit that divides it, or with one decimal.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes {
			if n%unit.bytes == 0 {
				return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
			}
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
