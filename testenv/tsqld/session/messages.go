package session

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// Messages are the messages of sp_addmessage, by number. They last until the server ends.
type Messages struct {
	mu     sync.Mutex
	byID   map[int64]catalog.Message
	sorted []catalog.Message // nil after a change
}

// Find returns a message by its number.
func (m *Messages) Find(id int64) (catalog.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.byID[id]
	return d, ok
}

// All returns the messages by number. The caller must not change them.
func (m *Messages) All() []catalog.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sorted == nil {
		m.sorted = slices.SortedFunc(maps.Values(m.byID), func(a, b catalog.Message) int { return cmp.Compare(a.ID, b.ID) })
	}
	return m.sorted
}

// Put stores a message.
func (m *Messages) Put(d catalog.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[int64]catalog.Message{}
	}
	m.byID[d.ID], m.sorted = d, nil
}

// Drop removes a message. It reports whether there was one.
func (m *Messages) Drop(id int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.byID[id]
	delete(m.byID, id)
	m.sorted = nil
	return ok
}
