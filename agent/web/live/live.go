// Package live sends updates to browsers as server-sent events. A [Hub] reads each topic of a
// control database once, however many viewers it has: 100 viewers cost the database no more than
// one.
package live

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb"
)

// Event is one server-sent event. It is encoded once for all viewers.
type Event struct {
	// Name is the event's type.
	Name string
	// Data is JSON on one line.
	Data []byte
}

// Topic is something that changes, in each control database.
type Topic struct {
	// Pattern is the name of the topic; a last segment {id} matches one segment: "overview",
	// "run/{id}".
	Pattern string
	// Interval is the time between reads while something changes. A hub reads less often while
	// nothing changes, up to ten times the interval, and at once after an action of this process.
	Interval time.Duration
	// Operators says that only operators may see it. Its reads are made as the database user of
	// operators; those of other topics as that of readers.
	Operators bool
	// Open makes a source for the topic's first viewer. id is the last segment of a pattern with
	// {id}.
	Open func(id string) (Source, error)
}

// Source reads the state of a topic. Its methods are called by one goroutine at a time. What it
// reads must be what every reader may see, or every operator: it is the same for all viewers.
type Source interface {
	// Next reads the state, and returns the events since the last call; the first call returns
	// nothing if Snapshot has it all. Calls of store with ctx run as a database user: see Topic.
	// After an error, the hub tells the viewers since when there is no news, and calls Next again
	// after a while.
	Next(ctx context.Context, store *controldb.Store) ([]Event, error)
	// Snapshot returns the events that bring a new viewer up to date with the last Next.
	Snapshot() []Event
}
