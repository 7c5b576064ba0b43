// Package runs has the list of runs, and the page of a run.
package runs

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
)

//go:embed *.html *.js *.css
var files embed.FS

// pages holds what the pages share.
type pages struct{ watches *watches }

// Set returns the pages, and what chooses databases of a run.
func Set() (page.Set, page.Chooser) {
	p := &pages{watches: newWatches()}
	return page.Set{
		Name: "runs", Files: files,
		Pages: []page.Page{
			{Path: "/runs", Role: rest.RoleReader, Handle: list},
			{Path: "/runs/{run}", Role: rest.RoleReader, Handle: p.run},
			{Path: "/runs/{run}/cells", Role: rest.RoleReader, Handle: p.cells},
		},
		Topics: []live.Topic{
			{Pattern: "runs/{id}", Interval: 2 * time.Second, Open: openList},
			{Pattern: "run/{id}", Interval: time.Second, Open: p.open},
		},
	}, p.choose
}

// open opens the updates of a run.
func (p *pages) open(id string) (live.Source, error) {
	run, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("invalid run: %w", err)
	}
	s := &source{pages: p, run: run}
	s.blocks = live.Fragments("runs", func(context.Context, *controldb.Store) (any, error) { return s.view, nil },
		"run-head", "run-steps", "run-errors")
	return s, nil
}

// source follows a run. It implements live.Source.
type source struct {
	pages  *pages
	run    uuid.UUID
	epoch  int64
	has    progress // what the viewers have
	view   runView
	blocks live.Source
	gone   bool
}

// Next implements live.Source.
func (s *source) Next(ctx context.Context, store *controldb.Store) ([]live.Event, error) {
	var events []live.Event
	err := s.pages.watches.use(ctx, live.Base(ctx), s.run, store, freshFor/2, func(w *watch) error {
		if s.epoch != w.epoch { // the first read, or the run was forgotten meanwhile
			s.epoch, s.has = w.epoch, progress{w.version, len(w.targets), len(w.messages)}
			events = append(events, s.state())
		}
		if data := w.delta(&s.has); data != nil {
			events = append(events, live.Event{Name: "delta", Data: data})
		}
		s.view = w.view()
		return nil
	})
	if gone(err) {
		if s.gone {
			return nil, nil
		}
		s.gone = true
		return []live.Event{{Name: "gone", Data: []byte("{}")}}, nil
	}
	if err != nil {
		return nil, err
	}
	s.gone = false
	blocks, err := s.blocks.Next(ctx, store)
	return append(events, blocks...), err
}

// state returns the event that tells a viewer which version the stream begins with.
func (s *source) state() live.Event {
	return live.Event{Name: "state", Data: fmt.Appendf(nil, `{"epoch":%d,"to":%d}`, s.epoch, s.has.version)}
}

// Snapshot implements live.Source.
func (s *source) Snapshot() []live.Event {
	if s.gone {
		return []live.Event{{Name: "gone", Data: []byte("{}")}}
	}
	return append(s.blocks.Snapshot(), s.state())
}
