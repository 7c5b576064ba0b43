package pacing

import "time"

const (
	// paceSpan is the length of the spans in which a pace counts.
	paceSpan = 250 * time.Millisecond
	// paceAhead is how far ahead a pace predicts: a little longer than a claim takes. If it has
	// counted for a shorter time, it predicts no more tasks than it has counted.
	paceAhead = 100 * time.Millisecond
	// paceMinimum is the smallest count that predicts anything: two tasks may end together by
	// chance.
	paceMinimum = 3
)

// Pace predicts from the tasks that workers have finished lately how many they will finish soon.
// The zero value has counted nothing. It is not safe for concurrent use.
type Pace struct {
	began         time.Time // of the current span
	current, last int       // tasks finished in the current span and in the one before
}

// Add counts one finished task.
func (p *Pace) Add(now time.Time) {
	p.advance(now)
	p.current++
}

// Ahead returns how many tasks the workers will finish within paceAhead at the pace of the last one
// or two spans.
func (p *Pace) Ahead(now time.Time) int {
	p.advance(now)
	n, counted := p.current, now.Sub(p.began)
	if p.last > 0 {
		n += p.last
		counted += paceSpan
	}
	if n < paceMinimum {
		return 0
	}
	return int(time.Duration(n) * paceAhead / max(counted, paceAhead))
}

// advance begins a new span if the current one is over.
func (p *Pace) advance(now time.Time) {
	switch age := now.Sub(p.began); {
	case age < paceSpan:
	case age < 2*paceSpan:
		p.began, p.last, p.current = p.began.Add(paceSpan), p.current, 0
	default:
		p.began, p.last, p.current = now, 0, 0
	}
}
