package front

import (
	"testing"
	"time"
)

// Between runs do, and another writer as soon as a call of a procedure within do has returned to
// the front. The other writer has no part in what the front answers.
func (f *Front) Between(t testing.TB, procedure string, other, do func()) {
	t.Helper()
	b := &between{procedure: procedure, other: other}
	f.Entry.Store = f.Store.WithObserver(b)
	defer func() { f.Entry.Store = f.Store }()
	do()
	if !b.done {
		t.Errorf("%s was not called", procedure)
	}
}

// between is an observer that calls other after the first call of a procedure.
type between struct {
	procedure string
	other     func()
	done      bool
}

// Called implements [controldb.Observer].
func (b *between) Called(name string, _ time.Duration, err error) {
	if name != b.procedure || err != nil || b.done {
		return
	}
	b.done = true
	b.other()
}

// Retried implements [controldb.Observer].
func (b *between) Retried() {}
