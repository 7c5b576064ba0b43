package capacity

import "time"

// event is something that happens at an instant.
type event struct {
	at   time.Duration // since the beginning
	turn uint64        // events of one instant happen in the order in which they were added
	do   func(*run)
	run  *run // the argument of do; nil if do needs none
}

// events is a queue of events, ordered by time: a heap in which each node has four children.
type events struct {
	now   time.Duration
	turns uint64
	heap  []event
}

// before reports whether e happens before o.
func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.turn < o.turn }

// after adds an event that happens after a time.
func (q *events) after(d time.Duration, do func(*run), r *run) {
	q.turns++
	q.heap = append(q.heap, event{q.now + max(d, 0), q.turns, do, r})
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 4
		if !q.heap[i].before(&q.heap[parent]) {
			break
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// next lets the next event happen if its time is at most end. It returns false if there is none.
func (q *events) next(end time.Duration) bool {
	if len(q.heap) == 0 || q.heap[0].at > end {
		return false
	}
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0], q.heap[last] = q.heap[last], event{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for child := 4*i + 1; child <= 4*i+4 && child < last; child++ {
			if q.heap[child].before(&q.heap[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
	q.now = first.at
	first.do(first.run)
	return true
}

// processors are shared by processes. Processes with work take turns, and a piece of work that has
// begun runs to its end.
type processors struct {
	q     *events
	free  int
	turns []*process // that have waiting work
}

// process is a user of processors.
type process struct {
	on      *processors
	limit   int // of pieces of work at once; 0: none
	running int
	waiting []work
	first   int           // index of the first of waiting
	busy    time.Duration // sum of all costs
}

// work is a piece of work.
type work struct {
	cost  time.Duration
	begin func() time.Duration // returns the cost when the work begins; nil: cost
	end   func(*run)
	run   *run
}

// submit adds a piece of work.
func (p *process) submit(w work) {
	if p.on.free > 0 && (p.limit == 0 || p.running < p.limit) {
		p.start(w)
		return
	}
	if p.first == len(p.waiting) {
		p.waiting, p.first = p.waiting[:0], 0
		p.on.turns = append(p.on.turns, p)
	}
	p.waiting = append(p.waiting, w)
}

// start begins a piece of work.
func (p *process) start(w work) {
	p.on.free--
	p.running++
	if w.begin != nil {
		w.cost = w.begin()
	}
	p.busy += w.cost
	p.on.q.after(w.cost, func(r *run) {
		p.on.free++
		p.running--
		w.end(r)
		p.on.dispatch()
	}, w.run)
}

// dispatch begins work of the processes that wait, in turns.
func (s *processors) dispatch() {
	for tries := len(s.turns); s.free > 0 && tries > 0; {
		p := s.turns[0]
		s.turns = append(s.turns[:0], s.turns[1:]...)
		if p.limit > 0 && p.running >= p.limit {
			s.turns = append(s.turns, p)
			tries--
			continue
		}
		w := p.waiting[p.first]
		p.waiting[p.first] = work{}
		if p.first++; p.first < len(p.waiting) {
			s.turns = append(s.turns, p)
		}
		p.start(w)
		tries = len(s.turns)
	}
}
