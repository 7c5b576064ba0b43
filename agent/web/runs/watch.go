package runs

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs"
)

const (
	// messageLength is how much of a message the grid has; a target's page has all of it.
	messageLength = 300
	// readLength is how much of a message is read: of a success, also the sentence that
	// executions.Remark leaves out.
	readLength = messageLength + executions.MaxSuccessSentence
	// freshFor is how long what was read is used for pages, so that many viewers who load a page
	// cost one read.
	freshFor = time.Second
	// batch bounds the targets that one call reads by their IDs.
	batch = 2000
	// idleTime is how long a run without viewers is kept, maxRuns how many runs are kept, and
	// maxCells their cells together. A run that was used within viewedTime is not forgotten for
	// others: streams use theirs every 10 s at least, and would read it again and again. Beyond
	// mostCells, which is some 600 MB, such runs are forgotten, too.
	idleTime   = time.Minute
	viewedTime = 15 * time.Second
	maxRuns    = 32
	maxCells   = 400_000
	mostCells  = 4 * maxCells
	// maxLog bounds the changes of a run that are kept.
	maxLog = 100_000
)

// cell is one step on one target.
type cell struct {
	id      int64
	row     int32 // the target's, in watch.targets
	step    int32 // the step's, in watch.steps
	state   state
	unknown bool // whether the script ran is unknown
	// attempts counts those that have begun; times are zero where there is none. end is as far from
	// start as the target took by its agent's clock; the outcome was stored later.
	attempts                 int32
	start, end, attempt, due time.Time
	message                  int32 // in watch.messages; -1: none
	version                  int64 // of the latest change
	mark                     mark
}

// mark is where an unfinished target was when the marks were read; zero: it had none.
type mark struct {
	kind byte  // of TargetMark.Kind: W, H or C
	at   int64 // 0 with H: a hold
}

// target is a row of the grid.
type target struct {
	id               uuid.UUID
	server, database string
	cells            []ref // at most one per step
}

// ref names a cell.
type ref struct{ step, index int32 }

// step is a step of the run with its cells, by ID.
type step struct {
	executions.RunStep
	loaded bool
	cells  []cell
	marks  []mark // while marks are compared
}

// message is a text that cells have, once.
type message struct {
	text  string
	group int32 // in watch.groups
}

// watch is what is known of one run. It is filled by the first viewer and then follows the changes.
type watch struct {
	run uuid.UUID
	// busy is held while the state is read or used; a channel, so that the wait can be abandoned.
	busy chan struct{}

	epoch    int64 // differs from that of any other watch: versions are compared within it
	read     time.Time
	head     executions.Run
	after    []triggers.Event // the runs of other jobs after which a trigger started it
	then     []triggers.Event // what triggers made of its end
	settled  bool             // then does not change any more
	steps    []*step
	byID     map[int64]int // steps by RunStep.ID
	rows     map[uuid.UUID]int32
	targets  []target
	messages []message
	texts    map[string]int32 // messages by text
	groups   []group
	byKey    map[string]int32 // groups by key
	version  int64            // the number of changes
	log      []ref            // the changes with the versions after base, in order
	base     int64
	turn     int                  // of the cells whose marks tell of no change, which are read in turn
	answers  map[answerKey][]byte // encoded answers about this version
}

// watches holds the runs that are viewed, of all control databases. It is safe for concurrent use.
type watches struct {
	mu   sync.Mutex
	runs map[watchKey]*kept
	next int64 // epoch
}

type watchKey struct {
	base string // of the control database's pages
	run  uuid.UUID
}

// kept is a watch with what decides how long it is kept.
type kept struct {
	*watch
	used  time.Time
	cells int
}

func newWatches() *watches {
	return &watches{runs: map[watchKey]*kept{}, next: time.Now().UnixMilli()} // a later process has other epochs
}

// get returns the watch of a run, and forgets those that nobody used lately.
func (ws *watches) get(base string, run uuid.UUID) *watch {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now := time.Now()
	key := watchKey{base, run}
	k := ws.runs[key]
	if k == nil {
		ws.next++
		k = &kept{watch: newWatch(run, ws.next)}
		ws.runs[key] = k
	}
	k.used = now
	ws.sweep(now)
	return k.watch
}

// sweep forgets runs: those that were not used for idleTime, and the least recently used ones of
// too many. ws.mu is held.
func (ws *watches) sweep(now time.Time) {
	type entry struct {
		key watchKey
		*kept
	}
	var list []entry
	cells := 0
	for key, k := range ws.runs {
		if now.Sub(k.used) > idleTime {
			delete(ws.runs, key)
			continue
		}
		list = append(list, entry{key, k})
		cells += k.cells
	}
	slices.SortFunc(list, func(a, b entry) int { return a.used.Compare(b.used) })
	for len(list) > 1 && (len(list) > maxRuns || cells > maxCells) && (cells > mostCells || now.Sub(list[0].used) > viewedTime) {
		delete(ws.runs, list[0].key)
		cells -= list[0].cells
		list = list[1:]
	}
}

// count notes how many cells a run has.
func (ws *watches) count(base string, w *watch, cells int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if k := ws.runs[watchKey{base, w.run}]; k != nil && k.watch == w {
		k.cells = cells
	}
}

// drop forgets the run of w, which does not exist.
func (ws *watches) drop(base string, w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	key := watchKey{base, w.run}
	if k := ws.runs[key]; k != nil && k.watch == w {
		delete(ws.runs, key)
	}
}

func newWatch(run uuid.UUID, epoch int64) *watch {
	return &watch{
		run: run, epoch: epoch, busy: make(chan struct{}, 1), byID: map[int64]int{}, rows: map[uuid.UUID]int32{},
		texts: map[string]int32{}, byKey: map[string]int32{},
	}
}

// use reads the state of the run, unless it was read less than age ago, and calls f with it. Others
// wait meanwhile. On an error of the read, f is not called.
func (ws *watches) use(ctx context.Context, base string, run uuid.UUID, store *controldb.Store, age time.Duration, f func(*watch) error) error {
	w := ws.get(base, run)
	select {
	case w.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.busy }()
	if w.read.IsZero() || time.Since(w.read) >= age {
		if err := w.refresh(ctx, store); err != nil {
			if gone(err) {
				ws.drop(base, w)
			}
			return err
		}
		cells := 0
		for _, s := range w.steps {
			cells += len(s.cells)
		}
		ws.count(base, w, cells)
	}
	return f(w)
}

// eventsShown bounds the events of triggers.
const eventsShown = 20

// refreshEvents reads the events of triggers. The events of the end of a run are there when it has
// ended, and may wait.
func (w *watch) refreshEvents(ctx context.Context, store *controldb.Store) (err error) {
	top := controldb.Page[int64]{Top: eventsShown}
	if w.head.JobTrigger != nil && w.after == nil {
		if w.after, err = triggers.On(store).Events(ctx, triggers.EventFilter{Run: w.run}, top); err != nil {
			return err
		}
	}
	if w.head.Active || w.settled {
		return nil
	}
	if w.then, err = triggers.On(store).Events(ctx, triggers.EventFilter{UpstreamRun: w.run}, top); err != nil {
		return err
	}
	w.settled = !slices.ContainsFunc(w.then, func(e triggers.Event) bool { return e.State == "Waiting" })
	return nil
}

// refresh reads what has changed since the last call. After an error the state is that of the last
// call, or a part of the changes; the next call reads the rest.
func (w *watch) refresh(ctx context.Context, store *controldb.Store) error {
	run, err := executions.On(store).Get(ctx, w.run, executions.Marks)
	if err != nil {
		return err
	}
	marks := run.Marks
	run.Marks = nil
	w.head = run
	if err := w.refreshEvents(ctx, store); err != nil {
		return err
	}
	for i, s := range run.Steps {
		if i == len(w.steps) {
			w.steps = append(w.steps, &step{})
		}
		w.steps[i].RunStep = s
		if s.ID != 0 {
			w.byID[s.ID] = i
		}
	}
	for i, s := range w.steps {
		// A list is frozen in one transaction, and does not change.
		if s.loaded || s.ID == 0 || s.Active && s.ResolvedAt.IsZero() {
			continue
		}
		list, err := executions.On(store).TargetsOfStep(ctx, w.run, s.StepID, readLength)
		if err != nil {
			return err
		}
		w.load(i, list)
	}
	changed := w.compare(marks)
	for ids := range slices.Chunk(changed, batch) {
		list, err := executions.On(store).TargetsByID(ctx, w.run, ids, readLength)
		if err != nil {
			return err
		}
		w.apply(list)
	}
	w.settle()
	w.read = time.Now()
	return nil
}

// load adds the cells of a step.
func (w *watch) load(index int, list []executions.WatchedTarget) {
	s := w.steps[index]
	s.loaded = true
	s.cells = make([]cell, 0, len(list))
	s.marks = make([]mark, len(list))
	for _, t := range list {
		row, known := w.rows[t.TargetID]
		if !known {
			row = int32(len(w.targets))
			w.rows[t.TargetID] = row
			w.targets = append(w.targets, target{id: t.TargetID, server: t.Server, database: t.Database})
		}
		at := ref{int32(index), int32(len(s.cells))}
		w.targets[row].cells = append(w.targets[row].cells, at)
		s.cells = append(s.cells, cell{id: t.ID, row: row, step: int32(index), message: -1, mark: mark{kind: '?'}})
		w.update(at, t)
	}
}

// find returns the index of the first cell of a step whose ID is not below id.
func (s *step) find(id int64) int {
	at, _ := slices.BinarySearchFunc(s.cells, id, func(c cell, id int64) int { return cmp.Compare(c.id, id) })
	return at
}

// compare compares marks with the last ones, and returns the IDs of targets that may have changed.
// A target whose mark is the same has not changed: a mark names the attempt that is held, or the
// time of the next one. A target without a mark is final, or on the way from one mark to the next.
// Only two marks may stay the same: a callback's while a report begins another attempt, and a
// hold's while another pause or window takes over. So those targets are read in turn.
func (w *watch) compare(marks []executions.TargetMark) (changed []int64) {
	for _, s := range w.steps {
		clear(s.marks)
	}
	for _, m := range marks {
		i, ok := w.byID[m.Step]
		if !ok {
			continue
		}
		s := w.steps[i]
		one := mark{kind: m.Kind[0], at: m.Task}
		if !m.At.IsZero() {
			one.at = m.At.UnixNano()
		}
		for at := s.find(m.First); at < len(s.cells) && s.cells[at].id <= m.Last; at++ {
			if s.marks[at].kind != 'H' { // a target that moves while marks are read without snapshots may have two
				s.marks[at] = one
			}
		}
	}
	silent := 0
	for _, s := range w.steps {
		for at := range s.cells {
			c := &s.cells[at]
			switch now := s.marks[at]; {
			case now.kind == 0 && c.state.final():
			case c.mark.kind == '?' && now.kind != 0: // just loaded; what changes later has another mark
				c.mark = now
			case c.mark != now || now.kind == 0:
				changed = append(changed, c.id)
			case now.kind == 'C', now == mark{kind: 'H'}: // a hold has no task
				if silent++; silent > w.turn && silent <= w.turn+100 {
					changed = append(changed, c.id)
				}
			}
		}
	}
	if w.turn += 100; w.turn >= silent {
		w.turn = 0
	}
	return changed
}

// apply updates cells from rows that were read by their IDs.
func (w *watch) apply(list []executions.WatchedTarget) {
	for _, t := range list {
		for i, s := range w.steps {
			if s.StepID != t.StepID {
				continue
			}
			if at := s.find(t.ID); at < len(s.cells) && s.cells[at].id == t.ID {
				w.update(ref{int32(i), int32(at)}, t)
			}
		}
	}
}

// settle keeps the marks, once all targets that may have changed were read.
func (w *watch) settle() {
	for _, s := range w.steps {
		for at := range s.cells {
			s.cells[at].mark = s.marks[at]
		}
	}
}

// update sets a cell from its row, and logs the change.
func (w *watch) update(at ref, t executions.WatchedTarget) {
	c := &w.steps[at.step].cells[at.index]
	was := *c
	c.state, c.unknown, c.attempts = stateOf(t.Lifecycle), t.OutcomeUnknown, int32(t.Attempts)
	c.start, c.end, c.attempt, c.due = t.StartTime, t.EndTime, t.AttemptStart, time.Time{}
	if t.DurationMS != nil {
		c.end = c.start.Add(time.Duration(*t.DurationMS) * time.Millisecond)
	}
	if c.state == waitingForRetry {
		c.due = t.NextAttempt
	}
	c.message = -1
	text, number := "", t.ErrorNumber
	switch {
	case t.WaitingReason != "":
		text, number = "Waits because "+t.WaitingReason+".", 0
	case c.state.explains():
		text = executions.Remark(t.Lifecycle, t.Message)
	}
	if text != "" {
		if all := []rune(text); len(all) > messageLength {
			text = string(all[:messageLength])
		}
		c.message = w.intern(number, text)
	}
	if *c == was && c.version > 0 {
		return
	}
	w.regroup(was, *c)
	w.version++
	c.version = w.version
	w.log = append(w.log, at)
	if len(w.log) > maxLog {
		drop := len(w.log) / 2 // viewers that are so far behind get everything again
		w.base += int64(drop)
		w.log = slices.Clone(w.log[drop:])
	}
}

// since returns the cells that changed after a version, oldest first. The log must reach back to
// the version.
func (w *watch) since(version int64) iter.Seq[*cell] {
	return func(yield func(*cell) bool) {
		for i := version - w.base; i < int64(len(w.log)); i++ {
			at := w.log[i]
			c := &w.steps[at.step].cells[at.index]
			if c.version == w.base+i+1 && !yield(c) { // else it has changed again since
				return
			}
		}
	}
}

// gone reports whether an error means that the run does not exist, or not any more.
func gone(err error) bool { return errors.Is(err, dberror.ErrExecutionNotFound) }

// state is a lifecycle as a number.
type state uint8

// The states, in the order in which the grid's summary lists them.
const (
	created state = iota
	inProgress
	waitingForRetry
	waitingForCallback
	succeeded
	succeededWithSkipped
	failed
	timedOut
	canceled
	skipped
	states // their number
)

// lifecycles are the names of states.
var lifecycles = [states]jobs.Lifecycle{
	jobs.Created, jobs.InProgress, jobs.WaitingForRetry, jobs.WaitingForCallback, jobs.Succeeded, jobs.SucceededWithSkipped,
	jobs.Failed, jobs.TimedOut, jobs.Canceled, jobs.Skipped,
}

// stateOf returns the state of a lifecycle; a lifecycle that targets do not have counts as created.
func stateOf(l jobs.Lifecycle) state {
	return state(max(0, slices.Index(lifecycles[:], l)))
}

// final reports whether a state does not change any more.
func (s state) final() bool { return s >= succeeded }

// explains reports whether the message of a cell in this state is worth showing.
func (s state) explains() bool { return s == waitingForRetry || s == succeeded || s >= failed }
