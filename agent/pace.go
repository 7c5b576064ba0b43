package agent

import "time"

// paceSpan is the time by which a pace counts. The tasks that workers finish in two of it last for the round trips that fetch more.
const paceSpan = 100 * time.Millisecond

// pace counts what workers have finished lately. The zero value has counted nothing.
type pace struct {
	began         time.Time // of the current span
	current, last int       // finished in it, and in the one before
}

// add counts one more.
func (p *pace) add(now time.Time) {
	p.turn(now)
	p.current++
}

// recent is how many were finished within the last one to two spans.
func (p *pace) recent(now time.Time) int {
	p.turn(now)
	return p.last + p.current
}

// turn begins a new span when the current one is over.
func (p *pace) turn(now time.Time) {
	switch age := now.Sub(p.began); {
	case age < paceSpan:
	case age < 2*paceSpan:
		p.began, p.last, p.current = p.began.Add(paceSpan), p.current, 0
	default:
		p.began, p.last, p.current = now, 0, 0
	}
}
