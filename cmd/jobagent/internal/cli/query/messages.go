package query

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// messages collects what databases said, the same text of several databases once. Safe for
// concurrent use.
type messages struct {
	mu      sync.Mutex
	byText  map[string]*message
	order   []*message
	places  int // of all messages
	dropped int
}

// message is a text with the databases that said it.
type message struct {
	text    string
	first   string                 // database
	said    map[uuid.UUID]struct{} // databases
	repeats int                    // in all
}

const (
	// maxMessages is the number of different texts that are kept.
	maxMessages = 1000
	// maxPlaces bounds the memory for who said what.
	maxPlaces = 1_000_000
	// maxMessage is the number of bytes to which a text is cut.
	maxMessage = 2000
)

func (m *messages) add(t targets.Target, said targets.Message) {
	text := wording.Clip(said.Text, maxMessage, wording.Bytes)
	if said.Number != 0 {
		text = fmt.Sprintf("Msg %d: %s", said.Number, text)
	}
	text = targets.WithoutNames(text, t.Server, t.Database)
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.byText[text]
	if one == nil {
		if len(m.order) == maxMessages || m.places == maxPlaces {
			m.dropped++
			return
		}
		if m.byText == nil {
			m.byText = map[string]*message{}
		}
		one = &message{text: text, first: t.String(), said: map[uuid.UUID]struct{}{}}
		m.byText[text] = one
		m.order = append(m.order, one)
	}
	one.repeats++
	if _, again := one.said[t.ID]; again || m.places == maxPlaces {
		return
	}
	one.said[t.ID] = struct{}{}
	m.places++
}

// print prints the messages, those of most databases first.
func (m *messages) print(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.SortStableFunc(m.order, func(x, y *message) int { return cmp.Compare(len(y.said), len(x.said)) })
	for _, one := range m.order {
		who := wording.Count(len(one.said), "database")
		if len(one.said) == 1 {
			who = one.first
		}
		times := ""
		if one.repeats > len(one.said) {
			times = fmt.Sprintf(" (%d times)", one.repeats)
		}
		fmt.Fprintf(w, "%s said%s: %s\n", output.OneLine(who), times, output.OneLine(one.text))
	}
	if m.dropped > 0 {
		fmt.Fprintf(w, "%s more are not shown\n", wording.Count(m.dropped, "message"))
	}
}
