package agent

import "time"

const (
	// paceSpan is the time by which a pace counts.
	paceSpan = 250 * time.Millisecond
	// paceAhead is how far it looks ahead: for as long as fetching more takes, and some. It is also the least time that a pace is
	// taken from.
	paceAhead = 100 * time.Millisecond
	// paceLeast is how many must have ended for a pace: fewer that happen to end together promise nothing.
	paceLeast = 3
)

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

// soon is how many more the workers will finish within paceAhead if they go on like in the last one or two spans.
func (p *pace) soon(now time.Time) int {
	p.turn(now)
	n, counted := p.current, now.Sub(p.began)
	if p.last > 0 {
		n += p.last
		counted += paceSpan
	}
	if n < paceLeast {
		return 0
	}
	return int(time.Duration(n) * paceAhead / max(counted, paceAhead))
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
